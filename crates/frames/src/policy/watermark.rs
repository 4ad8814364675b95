//! Switches for what differs between releases about watermarks and reserves.

/// Watermarks and boosting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatermarkPolicy {
    /// `vm.watermark_scale_factor`, in 1/10000 of the zone; distance between the marks. `None` up to 4.5: min/4.
    pub scale_factor: Option<u32>,
    /// `vm.watermark_boost_factor`, in 1/10000 of the high mark; 0 is off. `None` up to 4.20: no boosting.
    pub boost_factor: Option<u32>,
    /// Zones below four pageblocks are never boosted. 5.7+.
    pub boost_skips_tiny_zones: bool,
    /// A fragmentation event wakes kswapd even where it added no boost. Up to 5.10.
    pub wake_without_boost: bool,
    /// An order-0 atomic request that fails at the boosted min mark is checked against the unboosted one. 5.9+.
    pub atomic_ignores_boost: bool,
    /// Upper limit of the computed `min_free_kbytes`, in kB. 262144 from 5.8 on.
    pub min_free_kbytes_max: u64,
    /// Order-0 requests pass by a test without reserve rights first. 4.7+.
    pub quick_test: QuickTest,
    /// Way of urgent requests to reserves.
    pub reserve_rights: ReserveRights,
}

/// The cheap watermark test for order-0 requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickTest {
    /// None. Up to 4.6.
    Absent,
    /// Ignores the highatomic reserve. 4.7 to 5.8.
    IgnoresHighAtomic,
    /// Subtracts the highatomic reserve. 5.9+.
    SubtractsHighAtomic,
}

/// Names and shares of the rights to reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveRights {
    /// ALLOC_HARDER for atomic requests and real-time tasks. Up to 6.2.
    Harder,
    /// ALLOC_MIN_RESERVE, ALLOC_NON_BLOCK, ALLOC_HIGHATOMIC. 6.3+.
    NonBlock,
}

/// The highatomic reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HighAtomicPolicy {
    /// The limit of the reserve: one hundredth of the zone rounded up to a pageblock, and no reserve in zones where that hundredth is less
    /// than a pageblock. 6.8+; before, a hundredth plus one pageblock.
    pub limit_rounded: bool,
    /// Watermark checks subtract only its free part. 6.12+; before, all of it.
    pub only_free_part_withheld: bool,
}

impl Default for WatermarkPolicy {
    fn default() -> Self {
        Self {
            scale_factor: Some(10),
            boost_factor: Some(15_000),
            boost_skips_tiny_zones: false,
            wake_without_boost: true,
            atomic_ignores_boost: false,
            min_free_kbytes_max: 65_536,
            quick_test: QuickTest::IgnoresHighAtomic,
            reserve_rights: ReserveRights::Harder,
        }
    }
}
