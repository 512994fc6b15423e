//! The Merkle tree of RFC 6962 over a list that only grows: its root, proofs that a leaf is in it, and proofs that a
//! longer list begins with a shorter one. SHA-256; a leaf is hashed behind a byte 0, a node behind a byte 1, so that
//! neither passes for the other.

use debate_core::id::Digest;
use sha2::{Digest as _, Sha256};

/// Returns the hash of a leaf's bytes.
#[must_use]
pub fn leaf_hash(bytes: &[u8]) -> Digest {
    Digest(Sha256::new().chain_update([0]).chain_update(bytes).finalize().into())
}

/// Returns the hash of the node above two others.
#[must_use]
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    Digest(Sha256::new().chain_update([1]).chain_update(left.0).chain_update(right.0).finalize().into())
}

/// Returns the root over leaves' hashes; that of no leaves is the SHA-256 of nothing.
#[must_use]
pub fn root(leaves: &[Digest]) -> Digest {
    match leaves {
        [] => Digest(Sha256::digest([]).into()),
        [one] => *one,
        many => {
            let (left, right) = many.split_at(split(many.len()));
            node_hash(&root(left), &root(right))
        }
    }
}

/// Returns the proof that the leaf at `index` is in the tree, the lowest node first; `None` where there is no such leaf.
#[must_use]
pub fn inclusion_proof(leaves: &[Digest], index: usize) -> Option<Vec<Digest>> {
    if index >= leaves.len() {
        return None;
    }
    let (mut rest, mut index, mut proof) = (leaves, index, Vec::new());
    while rest.len() > 1 {
        let (left, right) = rest.split_at(split(rest.len()));
        if index < left.len() {
            proof.push(root(right));
            rest = left;
        } else {
            proof.push(root(left));
            index -= left.len();
            rest = right;
        }
    }
    proof.reverse();
    Some(proof)
}

/// Returns the proof that the tree begins with the tree of its first `from` leaves; `None` where it has fewer.
///
/// It is empty for the same tree, and from the empty tree.
#[must_use]
pub fn consistency_proof(leaves: &[Digest], from: usize) -> Option<Vec<Digest>> {
    if from > leaves.len() {
        return None;
    }
    let mut proof = Vec::new();
    if from > 0 {
        grow(leaves, from, true, &mut proof);
    }
    Some(proof)
}

/// SUBPROOF of RFC 6962, 2.1.2: `is_known` says that the old root itself is that of these leaves.
fn grow(leaves: &[Digest], from: usize, is_known: bool, proof: &mut Vec<Digest>) {
    if from == leaves.len() {
        if !is_known {
            proof.push(root(leaves));
        }
        return;
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    if from <= left.len() {
        grow(left, from, is_known, proof);
        proof.push(root(right));
    } else {
        grow(right, from - left.len(), false, proof);
        proof.push(root(left));
    }
}

/// The largest power of two below a length of at least two.
fn split(length: usize) -> usize {
    length.next_power_of_two() / 2
}

/// A leaf is not shown to be in a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InclusionError {
    /// The tree has no such place.
    #[error("leaf {index} lies beyond the tree's {size} leaves")]
    Beyond {
        /// The leaf's place, from 0.
        index: u64,
        /// How many leaves the tree has.
        size: u64,
    },
    /// The proof is too long or too short for its place.
    #[error("a proof for leaf {index} of {size} does not have {nodes} nodes")]
    Length {
        /// The leaf's place, from 0.
        index: u64,
        /// How many leaves the tree has.
        size: u64,
        /// How many nodes the proof has.
        nodes: usize,
    },
    /// The proof leads to another root: leaf, place, proof or root was changed.
    #[error("the proof for leaf {index} does not lead to the tree's root")]
    Root {
        /// The leaf's place, from 0.
        index: u64,
    },
}

/// Checks that a leaf is in the tree of a size and root (RFC 9162, 2.1.3.2).
///
/// # Errors
/// [`InclusionError`] says in which way it is not shown to be.
pub fn check_inclusion(
    leaf: &Digest,
    index: u64,
    (size, root): (u64, &Digest),
    proof: &[Digest],
) -> Result<(), InclusionError> {
    if index >= size {
        return Err(InclusionError::Beyond { index, size });
    }
    let length = InclusionError::Length { index, size, nodes: proof.len() };
    let (mut at, mut last, mut hash) = (index, size - 1, *leaf);
    for node in proof {
        if last == 0 {
            return Err(length);
        }
        if at % 2 == 1 || at == last {
            hash = node_hash(node, &hash);
            while at % 2 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, node);
        }
        at >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(length);
    }
    if hash == *root { Ok(()) } else { Err(InclusionError::Root { index }) }
}

/// A tree is not shown to begin with an older one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConsistencyError {
    /// The newer tree is the smaller one.
    #[error("the tree has {size} leaves, fewer than the {from} before")]
    Shrunk {
        /// How many leaves the older tree has.
        from: u64,
        /// How many leaves the newer tree has.
        size: u64,
    },
    /// The proof is too long or too short for these sizes.
    #[error("a proof from {from} to {size} leaves does not have {nodes} nodes")]
    Length {
        /// How many leaves the older tree has.
        from: u64,
        /// How many leaves the newer tree has.
        size: u64,
        /// How many nodes the proof has.
        nodes: usize,
    },
    /// The proof does not lead to both roots: the newer tree does not begin with the older one, or the proof was
    /// changed.
    #[error("the tree of {size} leaves is not shown to begin with the {from} that were seen before")]
    Root {
        /// How many leaves the older tree has.
        from: u64,
        /// How many leaves the newer tree has.
        size: u64,
    },
}

/// Checks that the tree of a size and root begins with an older one (RFC 9162, 2.1.4.2).
///
/// # Errors
/// [`ConsistencyError`] says in which way it is not shown to.
pub fn check_consistency(
    (from, old): (u64, &Digest),
    (size, new): (u64, &Digest),
    proof: &[Digest],
) -> Result<(), ConsistencyError> {
    if size < from {
        return Err(ConsistencyError::Shrunk { from, size });
    }
    let length = ConsistencyError::Length { from, size, nodes: proof.len() };
    if from == size || from == 0 {
        let is_old = if from == 0 { *old == root(&[]) } else { old == new };
        return match (proof.is_empty(), is_old) {
            (false, _) => Err(length),
            (true, false) => Err(ConsistencyError::Root { from, size }),
            (true, true) => Ok(()),
        };
    }
    // A whole subtree of the newer tree needs no node of its own.
    let start = from.is_power_of_two().then_some(old);
    let mut nodes = start.into_iter().chain(proof);
    let (mut at, mut last) = (from - 1, size - 1);
    while at % 2 == 1 {
        at >>= 1;
        last >>= 1;
    }
    let Some(first) = nodes.next() else { return Err(length) };
    let (mut to_old, mut to_new) = (*first, *first);
    for node in nodes {
        if last == 0 {
            return Err(length);
        }
        if at % 2 == 1 || at == last {
            to_old = node_hash(node, &to_old);
            to_new = node_hash(node, &to_new);
            while at % 2 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            to_new = node_hash(&to_new, node);
        }
        at >>= 1;
        last >>= 1;
    }
    match (last == 0, to_old == *old && to_new == *new) {
        (false, _) => Err(length),
        (true, false) => Err(ConsistencyError::Root { from, size }),
        (true, true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(count: usize) -> Vec<Digest> {
        (0..count).map(|number| leaf_hash(&number.to_le_bytes())).collect()
    }

    #[test]
    fn roots_are_those_published_for_rfc_6962() {
        // The leaves and roots with which implementations of Certificate Transparency are tested.
        let leaves = [
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
            "606162636465666768696a6b6c6d6e6f",
        ];
        let roots = [
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let hashes: Vec<_> = leaves.iter().map(|leaf| leaf_hash(&hex::decode(leaf).unwrap())).collect();
        for (size, want) in roots.iter().enumerate() {
            assert_eq!(root(&hashes[..size]).to_string(), *want, "{size} leaves");
        }
    }

    #[test]
    fn every_leaf_of_every_small_tree_is_proved_and_nothing_else_is() {
        for size in 1..=20_usize {
            let leaves = hashes(size);
            let tree = (size as u64, &root(&leaves));
            for (index, leaf) in leaves.iter().enumerate() {
                let at = index as u64;
                let proof = inclusion_proof(&leaves, index).unwrap();
                assert_eq!(check_inclusion(leaf, at, tree, &proof), Ok(()), "{index} of {size}");
                let other = leaf_hash(b"other");
                assert!(matches!(
                    check_inclusion(&other, at, tree, &proof),
                    Err(InclusionError::Root { .. })
                ));
                let beyond = check_inclusion(leaf, at + size as u64, tree, &proof);
                assert!(matches!(beyond, Err(InclusionError::Beyond { .. })));
                for wrong in (0..size as u64).filter(|wrong| *wrong != at) {
                    assert!(check_inclusion(leaf, wrong, tree, &proof).is_err(), "{index} as {wrong}");
                }
                let longer = [proof.as_slice(), &[other]].concat();
                let long = check_inclusion(leaf, at, tree, &longer);
                assert!(matches!(long, Err(InclusionError::Length { .. })));
                if let Some((_, shorter)) = proof.split_last() {
                    let short = check_inclusion(leaf, at, tree, shorter);
                    assert!(matches!(short, Err(InclusionError::Length { .. })));
                }
            }
            assert_eq!(inclusion_proof(&leaves, size), None);
        }
    }

    #[test]
    fn every_small_tree_is_proved_to_begin_with_every_smaller_one() {
        for size in 0..=20_usize {
            let leaves = hashes(size);
            let new = (size as u64, &root(&leaves));
            for from in 0..=size {
                let old_root = root(&leaves[..from]);
                let old = (from as u64, &old_root);
                let proof = consistency_proof(&leaves, from).unwrap();
                assert_eq!(check_consistency(old, new, &proof), Ok(()), "{from} to {size}");
                let other = leaf_hash(b"other");
                let wrong = check_consistency((old.0, &other), new, &proof);
                assert!(matches!(wrong, Err(ConsistencyError::Root { .. })), "{from} to {size}: {wrong:?}");
                let longer = [proof.as_slice(), &[other]].concat();
                let long = check_consistency(old, new, &longer);
                assert!(matches!(long, Err(ConsistencyError::Length { .. })), "{from} to {size}");
                if from > 0 && from < size {
                    let wrong = check_consistency(old, (new.0, &other), &proof);
                    assert!(matches!(wrong, Err(ConsistencyError::Root { .. })), "{from} to {size}");
                    let short = check_consistency(old, new, &proof[1..]);
                    assert!(short.is_err(), "{from} to {size}");
                    let back = check_consistency(new, old, &proof);
                    assert!(matches!(back, Err(ConsistencyError::Shrunk { .. })));
                }
            }
            assert_eq!(consistency_proof(&leaves, size + 1), None);
        }
    }
}
