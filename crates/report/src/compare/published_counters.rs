//! A whole published counter table, byte for byte: every row, its place and its formula.
//!
//! Figures of a thpscale run by Daniel Jordan, in "Re: [PATCH v19 00/20] per memcg lru_lock", LKML, September 2020.

use std::collections::BTreeMap;

use super::*;
use crate::stats::Generation;
use order9_units::Nanos;

const COUNTED: &[(&str, [u64; 2])] = &[
    ("pgfault", [2_532_962, 2_377_843]),
    ("pgmajfault", [836, 722]),
    ("pswpin", [676, 644]),
    ("pswpout", [15_887, 15_705]),
    ("allocstall", [67_986, 44_391]),
    ("fragment_stall", [0, 0]),
    ("pgalloc_dma", [0, 0]),
    ("pgalloc_dma32", [0, 0]),
    ("pgalloc_normal", [163_203_689, 154_651_154]),
    ("pgalloc_movable", [0, 0]),
    ("pgscan_direct", [832_666, 1_385_214]),
    ("pgscan_kswapd", [808_301, 3_517_190]),
    ("pgsteal_kswapd", [28_737, 314_122]),
    ("pgsteal_direct", [1_542, 118_664]),
    ("nr_vmscan_write", [15_887, 15_705]),
    ("nr_vmscan_immediate_reclaim", [0, 0]),
    ("pgpgin", [79_350_969, 79_290_528]),
    ("pgpgout", [105_724_641, 105_722_825]),
    ("slabs_scanned", [83_935, 113_839]),
    ("pginodesteal", [56, 44]),
    ("kswapd_inodesteal", [0, 1]),
    ("thp_fault_alloc", [232_051, 232_036]),
    ("thp_fault_fallback", [1, 0]),
    ("thp_collapse_alloc", [13, 12]),
    ("thp_collapse_alloc_failed", [0, 0]),
    ("thp_split_page", [22_665, 52_360]),
    ("thp_split_page_failed", [0, 0]),
    ("compact_stall", [144_127, 120_784]),
    ("compact_success", [8_039, 24_423]),
    ("compact_fail", [136_088, 96_361]),
    ("pgmigrate_success", [4_170_185, 12_177_428]),
    ("pgmigrate_fail", [9_476, 9_987]),
    ("compact_isolated", [9_551_164, 25_547_480]),
    ("compact_migrate_scanned", [6_529_450, 15_982_527]),
    ("compact_free_scanned", [17_198_448, 21_663_579]),
    ("compact_daemon_wake", [51, 88]),
    ("compact_daemon_migrate_scanned", [127_333, 325_654]),
    ("compact_daemon_free_scanned", [100_028, 35_658]),
    ("numa_hit", [48_379_083, 48_250_045]),
    ("numa_miss", [68_141, 51_994]),
    ("numa_interleave", [0, 0]),
    ("numa_local", [48_379_030, 48_250_007]),
    ("numa_pte_updates", [19_832, 4_340]),
    ("numa_huge_pte_updates", [34, 7]),
    ("numa_hint_faults", [2_148, 386]),
    ("numa_hint_faults_local", [1_814, 362]),
    ("numa_pages_migrated", [5_392, 535]),
];

const ELAPSED: [Nanos; 2] = [Nanos::new(1_239_400_000_000), Nanos::new(1_243_790_000_000)];

const TABLE: &str = "
                                            thp            thp
                                          base1          base2
Ops Minor Faults                     2532126.00     2377121.00
Ops Major Faults                         836.00         722.00
Ops Swap Ins                             676.00         644.00
Ops Swap Outs                          15887.00       15705.00
Ops Allocation stalls                  67986.00       44391.00
Ops Fragmentation stalls                   0.00           0.00
Ops DMA allocs                             0.00           0.00
Ops DMA32 allocs                           0.00           0.00
Ops Normal allocs                  163203689.00   154651154.00
Ops Movable allocs                         0.00           0.00
Ops Direct pages scanned              832666.00     1385214.00
Ops Kswapd pages scanned              808301.00     3517190.00
Ops Kswapd pages reclaimed             28737.00      314122.00
Ops Direct pages reclaimed              1542.00      118664.00
Ops Kswapd efficiency %                    3.56           8.93
Ops Kswapd velocity                      652.17        2827.80
Ops Direct efficiency %                    0.19           8.57
Ops Direct velocity                      671.83        1113.70
Ops Percentage direct scans               50.74          28.26
Ops Page writes by reclaim             15887.00       15705.00
Ops Page writes file                       0.00           0.00
Ops Page writes anon                   15887.00       15705.00
Ops Page reclaim immediate                 0.00           0.00
Ops Sector Reads                    79350969.00    79290528.00
Ops Sector Writes                  105724641.00   105722825.00
Ops Page rescued immediate                 0.00           0.00
Ops Slabs scanned                      83935.00      113839.00
Ops Direct inode steals                   56.00          44.00
Ops Kswapd inode steals                    0.00           1.00
Ops Kswapd skipped wait                    0.00           0.00
Ops THP fault alloc                   232051.00      232036.00
Ops THP fault fallback                     1.00           0.00
Ops THP collapse alloc                    13.00          12.00
Ops THP collapse fail                      0.00           0.00
Ops THP split                          22665.00       52360.00
Ops THP split failed                       0.00           0.00
Ops Compaction stalls                 144127.00      120784.00
Ops Compaction success                  8039.00       24423.00
Ops Compaction failures               136088.00       96361.00
Ops Compaction efficiency                  5.58          20.22
Ops Page migrate success             4170185.00    12177428.00
Ops Page migrate failure                9476.00        9987.00
Ops Compaction pages isolated        9551164.00    25547480.00
Ops Compaction migrate scanned       6529450.00    15982527.00
Ops Compaction free scanned         17198448.00    21663579.00
Ops Compact scan efficiency               37.97          73.78
Ops Compaction cost                     4555.96       13237.59
Ops Kcompactd wake                        51.00          88.00
Ops Kcompactd migrate scanned         127333.00      325654.00
Ops Kcompactd free scanned            100028.00       35658.00
Ops NUMA alloc hit                  48379083.00    48250045.00
Ops NUMA alloc miss                    68141.00       51994.00
Ops NUMA interleave hit                    0.00           0.00
Ops NUMA alloc local                48379030.00    48250007.00
Ops NUMA base-page range updates       19832.00        4340.00
Ops NUMA PTE updates                    2424.00         756.00
Ops NUMA PMD updates                      34.00           7.00
Ops NUMA hint faults                    2148.00         386.00
Ops NUMA hint local faults %            1814.00         362.00
Ops NUMA hint local percent               84.45          93.78
Ops NUMA pages migrated                 5392.00         535.00
Ops AutoNUMA cost                         10.98           1.97
";

#[test]
fn a_published_table_comes_out_byte_for_byte() {
    let results = |index: usize| Results {
        samples: BTreeMap::new(),
        durations: Some(Durations { user: Nanos::ZERO, system: Nanos::ZERO, elapsed: ELAPSED[index] }),
        counters: COUNTED.iter().map(|&(field, counts)| (field, counts[index])).collect(),
    };
    let column =
        |index: usize| Pooled { title: Title::new(["thp-base1", "thp-base2"][index]), results: results(index) };
    let columns = [column(0), column(1)];
    let benchmark = Benchmark { name: "thpscale".to_owned(), sections: vec![], main: vec![] };
    let report = compare(&benchmark, &columns, Generation::Y2019.into());
    let text = text::draw(&report.tables[1], text::Fit::Published);
    // Line by line first: a difference is easier to see.
    for (line, expected) in text.lines().zip(TABLE[1..].lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(text, TABLE[1..]);
    assert!(columns.iter().all(|column| column.results.counters.violations().is_empty()));
}
