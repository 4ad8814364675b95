//! /proc/zoneinfo: span, size, watermarks, counters and per-CPU lists of every zone.
//!
//! What differs between kernels: counters of a whole node stand under `per-node stats` since 4.8; `cma`, `boost` and
//! `promo` came in 5.x; `protection` stands before or behind the counters; zones without pages lack most lines.

use std::collections::BTreeMap;

use order9_snapshot::{PcpInfo, Watermarks, ZoneInfo};
use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::{Line, PAGES_MAX, ParseError, ZoneLine, lines};

/// Contents of /proc/zoneinfo.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ZoneInfoFile {
    /// The zones in the order of the file, without `Device`.
    pub(crate) zones: Vec<ZoneInfo>,
    /// `per-node stats`; empty before Linux 4.8.
    pub(crate) node_counters: BTreeMap<NodeId, BTreeMap<String, u64>>,
}

/// Reads /proc/zoneinfo.
pub(crate) fn parse(text: &str) -> Result<ZoneInfoFile, ParseError> {
    let mut file = ZoneInfoFile::default();
    let mut open: Option<OpenZone<'_>> = None;
    for line in lines(text) {
        if line.text.starts_with("Node") {
            if let Some(done) = open.take() {
                file.add(done)?;
            }
            open = Some(OpenZone::new(line)?);
        } else {
            let zone = open.as_mut().ok_or_else(|| line.malformed("`Node N, zone NAME`"))?;
            zone.take(&line)?;
        }
    }
    match open {
        Some(done) => file.add(done)?,
        None => return Err(ParseError::Malformed { line: 1, expected: "a zone" }),
    }
    Ok(file)
}

impl ZoneInfoFile {
    fn add(&mut self, zone: OpenZone<'_>) -> Result<(), ParseError> {
        let node = zone.info.node;
        if !zone.node_counters.is_empty() {
            self.node_counters.insert(node, zone.node_counters);
        }
        if !zone.is_device {
            if self.zones.iter().any(|known| (known.node, known.kind) == (node, zone.info.kind)) {
                return Err(zone.header.malformed("every zone once"));
            }
            self.zones.push(ZoneInfo { span: zone.start.span(zone.spanned, &zone.header)?, ..zone.info });
        }
        Ok(())
    }
}

/// Part of a zone's lines that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    NodeStats,
    Zone,
    PageSets,
}

/// A zone whose lines are being read.
struct OpenZone<'a> {
    header: Line<'a>,
    section: Section,
    is_device: bool,
    info: ZoneInfo,
    spanned: Pages,
    start: Start,
    node_counters: BTreeMap<String, u64>,
}

/// `start_pfn`, which zones without pages do not print.
#[derive(Clone, Copy, Default)]
struct Start(Option<Pfn>);

impl Start {
    fn span(self, spanned: Pages, header: &Line<'_>) -> Result<PfnRange, ParseError> {
        match self.0 {
            Some(start) => Ok(PfnRange::of(start, spanned)),
            None if spanned == Pages::ZERO => Ok(PfnRange::default()),
            None => Err(header.malformed("a `start_pfn` for this zone")),
        }
    }
}

impl<'a> OpenZone<'a> {
    fn new(header: Line<'a>) -> Result<Self, ParseError> {
        let ZoneLine { node, kind, .. } = header.zone()?;
        Ok(Self {
            header,
            section: Section::Zone,
            is_device: kind.is_none(),
            info: empty_zone(node, kind.unwrap_or(ZoneKind::Movable)),
            spanned: Pages::ZERO,
            start: Start::default(),
            node_counters: BTreeMap::new(),
        })
    }

    fn take(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        const EXPECTED: &str = "a name and a number";
        match line.text.trim() {
            "per-node stats" => self.section = Section::NodeStats,
            "pagesets" => self.section = Section::PageSets,
            text => {
                if let Some((name, value)) = text.split_once(':') {
                    return self.take_labelled(line, name.trim(), value);
                }
                let (name, value) = text.rsplit_once(char::is_whitespace).ok_or_else(|| line.malformed(EXPECTED))?;
                let name = name.trim();
                if name == "pages free" {
                    self.section = Section::Zone;
                }
                match self.section {
                    Section::NodeStats => {
                        self.node_counters.insert(line.counter(name)?.to_owned(), line.number(Some(value), EXPECTED)?);
                    }
                    Section::Zone | Section::PageSets => self.take_field(line, name, value)?,
                }
            }
        }
        Ok(())
    }

    /// Takes one line `NAME VALUE`.
    fn take_field(&mut self, line: &Line<'_>, name: &str, value: &str) -> Result<(), ParseError> {
        let pages = || line.pages(Some(value), "a name and a number of pages");
        let zone = &mut self.info;
        match name {
            "pages free" => zone.free = pages()?,
            "min" => zone.watermarks.min = pages()?,
            "low" => zone.watermarks.low = pages()?,
            "high" => zone.watermarks.high = pages()?,
            "promo" => zone.watermarks.promo = Some(pages()?),
            "boost" => zone.watermarks.boost = Some(pages()?),
            "spanned" => self.spanned = pages()?,
            "present" => zone.present = pages()?,
            "managed" => zone.managed = pages()?,
            "cma" => zone.cma = pages()?,
            _ => {
                let value = line.number(Some(value), "a name and a number")?;
                zone.counters.insert(line.counter(name)?.to_owned(), value);
            }
        }
        Ok(())
    }

    /// Takes `NAME: VALUE`. Names not listed here tell nothing that a snapshot needs.
    fn take_labelled(&mut self, line: &Line<'_>, name: &str, value: &str) -> Result<(), ParseError> {
        const EXPECTED: &str = "a name, a colon and a number of pages";
        let pages = || line.pages(Some(value), EXPECTED);
        let pcp = self.info.pcp.last_mut();
        match (name, pcp) {
            ("start_pfn", _) => self.start = Start(Some(Pfn::new(pages()?.get()))),
            ("protection", _) => self.info.protection = protection(line, value)?,
            ("cpu", _) => {
                let cpu = line.cpu(value)?;
                self.info.pcp.push(PcpInfo { cpu, ..PcpInfo::default() });
            }
            ("count", Some(pcp)) => pcp.count = pages()?,
            ("high", Some(pcp)) => pcp.high = pages()?,
            ("batch", Some(pcp)) => pcp.batch = pages()?,
            _ => {}
        }
        Ok(())
    }
}

/// Reads `(0, 3019, 4427)`.
fn protection(line: &Line<'_>, value: &str) -> Result<Vec<Pages>, ParseError> {
    const EXPECTED: &str = "`protection: (PAGES, PAGES, ...)`";
    let inner = value.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.ok_or_else(|| line.malformed(EXPECTED))?;
    inner.split(',').map(|word| line.pages(Some(word), EXPECTED)).collect()
}

fn empty_zone(node: NodeId, kind: ZoneKind) -> ZoneInfo {
    ZoneInfo {
        node,
        kind,
        span: PfnRange::default(),
        present: Pages::ZERO,
        managed: Pages::ZERO,
        cma: Pages::ZERO,
        free: Pages::ZERO,
        watermarks: Watermarks::default(),
        protection: Vec::new(),
        free_blocks: [0; Order::COUNT],
        free_by_type: BTreeMap::new(),
        block_counts: BTreeMap::new(),
        pcp: Vec::new(),
        counters: BTreeMap::new(),
    }
}

// A start and a length that `Line::pages` let through never add up to more than a frame number holds.
const _: () = assert!(PAGES_MAX <= u64::MAX / 2);

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::parse) const LINUX_4_4: &str = "\
Node 0, zone      DMA
  pages free     3971
        min      64
        low      80
        high     96
        scanned  0
        spanned  4095
        present  3997
        managed  3976
    nr_free_pages 3971
    nr_alloc_batch 16
    nr_inactive_anon 0
    numa_hit     1
        protection: (0, 2911, 15884, 15884)
  pagesets
    cpu: 0
              count: 0
              high:  0
              batch: 1
  vm stats threshold: 6
    cpu: 1
              count: 5
              high:  186
              batch: 31
  vm stats threshold: 6
  all_unreclaimable: 1
  start_pfn:         1
  inactive_ratio:    1
";

    pub(in crate::parse) const LINUX_6_18: &str = "\
Node 0, zone   Normal
  per-node stats
      nr_inactive_anon 547
      nr_anon_transparent_hugepages 12
      pgdemote_kswapd 0
  pages free     299986
        boost    1024
        min      5355
        low      6693
        high     8031
        promo    9369
        spanned  5505024
        present  5505024
        managed  360448
        cma      4096
        protection: (0, 0, 0, 0, 0)
      nr_free_pages 299986
      nr_free_pages_blocks 247808
      numa_hit     853234
  pagesets
    cpu: 0
              count:    393
              high:     4165
              batch:    63
              high_min: 3346
              high_max: 22528
  vm stats threshold: 20
  node_unreclaimable:  0
  start_pfn:           1048576
Node 0, zone  Movable
  pages free     0
        boost    0
        min      32
        low      32
        high     32
        promo    32
        spanned  0
        present  0
        managed  0
        cma      0
        protection: (0, 0, 0, 0, 0)
Node 0, zone   Device
  pages free     0
        boost    0
        min      0
        low      0
        high     0
        promo    0
        spanned  786432
        present  0
        managed  0
        cma      0
        protection: (0, 0, 0, 0, 0)
";

    #[test]
    fn a_kernel_without_node_counters() {
        let file = parse(LINUX_4_4).unwrap();
        let [zone] = file.zones.as_slice() else { panic!("one zone") };
        assert!(file.node_counters.is_empty());
        assert_eq!(zone.span, PfnRange::of(Pfn::new(1), Pages::new(4095)));
        assert_eq!((zone.present, zone.managed), (Pages::new(3997), Pages::new(3976)));
        assert_eq!(zone.watermarks.boost, None);
        assert_eq!(zone.protection.len(), 4);
        assert_eq!(zone.counters["nr_alloc_batch"], 16);
        assert_eq!(zone.pcp[1], PcpInfo { cpu: 1, count: Pages::new(5), high: Pages::new(186), batch: Pages::new(31) });
    }

    #[test]
    fn a_kernel_with_boost_and_promo() {
        let file = parse(LINUX_6_18).unwrap();
        let [normal, movable] = file.zones.as_slice() else { panic!("Normal and Movable, no Device") };
        assert_eq!(file.node_counters[&NodeId(0)]["nr_anon_transparent_hugepages"], 12);
        assert_eq!(normal.watermarks.boost, Some(Pages::new(1024)));
        assert_eq!(normal.watermarks.promo, Some(Pages::new(9369)));
        assert_eq!(normal.watermarks.high, Pages::new(8031), "high of a per-CPU list is another matter");
        assert_eq!(normal.cma, Pages::new(4096));
        assert_eq!(normal.pcp[0].count, Pages::new(393));
        assert_eq!(normal.span.end, Pfn::new(0x64_0000));
        assert_eq!((movable.kind, movable.span.is_empty()), (ZoneKind::Movable, true));
    }

    #[test]
    fn per_node_stats_of_4_8_stand_in_the_first_zone() {
        let text = LINUX_4_4.replace("  pages free", "  per-node stats\n      nr_inactive_anon 7\n  pages free");
        let text = text.replace("scanned  0", "node_scanned  0");
        let file = parse(&text).unwrap();
        assert_eq!(file.node_counters[&NodeId(0)]["nr_inactive_anon"], 7);
        assert_eq!(file.zones[0].counters["node_scanned"], 0);
    }

    #[test]
    fn damage_is_named_by_line() {
        let cases = [
            (LINUX_4_4.replace("3997", "lots"), "line 8: expected a name and a number of pages"),
            (LINUX_4_4.replace("  start_pfn:         1\n", ""), "line 1: expected a `start_pfn` for this zone"),
            (format!("{LINUX_4_4}{LINUX_4_4}"), "line 29: expected every zone once"),
            (LINUX_4_4.replace("(0, 2911", "0, 2911"), "line 14: expected `protection: (PAGES"),
            (LINUX_4_4.replace("4095", "18446744073709551615"), "line 7: expected a number of pages below 2^40"),
            ("  pages free 1".to_owned(), "line 1: expected `Node N, zone NAME`"),
            (String::new(), "line 1: expected a zone"),
        ];
        for (text, expected) in cases {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
