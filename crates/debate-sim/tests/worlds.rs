//! Whole worlds, thousands of them, each from one seed. A failing one prints its seed and the command that repeats it.

use debate_sim::run;

/// Declares tests, each of the worlds of a range of seeds.
macro_rules! worlds {
    ($($name:ident: $seeds:expr;)+) => {
        $(
            #[test]
            fn $name() {
                let report = run::run_all($seeds);
                assert!(report.compared * 2 > report.runs, "most runs are compared with fair weather");
            }
        )+
    };
}

worlds! {
    worlds_from_1: 1..=500;
    worlds_from_501: 501..=1_000;
    worlds_from_1001: 1_001..=1_500;
    worlds_from_1501: 1_501..=2_000;
    worlds_from_2001: 2_001..=2_500;
    worlds_from_2501: 2_501..=3_000;
    worlds_from_3001: 3_001..=3_500;
    worlds_from_3501: 3_501..=4_000;
    worlds_from_4001: 4_001..=4_500;
    worlds_from_4501: 4_501..=5_000;
    worlds_from_5001: 5_001..=5_500;
    worlds_from_5501: 5_501..=6_000;
    worlds_from_6001: 6_001..=6_500;
    worlds_from_6501: 6_501..=7_000;
    worlds_from_7001: 7_001..=7_500;
    worlds_from_7501: 7_501..=8_000;
}
