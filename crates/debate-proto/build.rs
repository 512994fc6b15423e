//! Generates the wire types from proto/ without protoc.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut compiler = protox::Compiler::new([&root])?;
    compiler.include_source_info(true).include_imports(true);
    compiler.open_files([
        "debate/v1/debate_service.proto",
        "debate/v1/audit_service.proto",
        "debate/v1/policy_service.proto",
    ])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("debate_v1.bin"), compiler.encode_file_descriptor_set())?;
    let mut names = tonic_prost_build::Config::new();
    names.enable_type_names();
    tonic_prost_build::configure()
        .btree_map(".")
        .codec_path("crate::codec::BoundedCodec")
        .compile_fds_with_config(compiler.file_descriptor_set(), names)?;
    Ok(())
}
