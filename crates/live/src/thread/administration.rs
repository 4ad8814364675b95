//! The machine as its administrator sees it.

use std::fs;
use std::io;

use order9_journal::Journal;
use order9_units::{Bytes, NodeId};
use order9_workloads::{Administration, DropCaches, Facts, Memory, PoolFile, Stop};

use super::Thread;
use crate::errno::refused;
use crate::readings::kib;

/// The size of the hugetlb pools.
const NR_HUGEPAGES: &str = "/proc/sys/vm/nr_hugepages";

impl Administration for Thread {
    fn facts(&self) -> Facts {
        self.process.run.facts.for_workloads()
    }

    /// Memory that is kept back is not available.
    fn memory(&self) -> Memory {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let of = |name| kib(&text, name).unwrap_or(0);
        let available = of("MemAvailable:").saturating_sub(self.process.run.job.reserve);
        Memory { free: Bytes::new(of("MemFree:")), available: Bytes::new(available) }
    }

    async fn drop_caches(&self, what: DropCaches) -> Result<(), Stop> {
        let number = match what {
            DropCaches::Pages => "1",
            DropCaches::Slab => "2",
            DropCaches::All => "3",
        };
        written("/proc/sys/vm/drop_caches", number)
    }

    async fn compact(&self, node: Option<NodeId>) -> Result<(), Stop> {
        match node {
            None => written("/proc/sys/vm/compact_memory", "1"),
            Some(node) => written(&format!("/sys/devices/system/node/node{}/compact", node.0), "1"),
        }
    }

    async fn reclaim(&self, node: NodeId, amount: Bytes, swappiness: Option<u64>) -> Result<bool, Stop> {
        let swappiness = swappiness.map_or_else(String::new, |value| format!(" swappiness={value}"));
        let text = format!("{}{swappiness}", amount.get());
        match fs::write(format!("/sys/devices/system/node/node{}/reclaim", node.0), text) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(false),
            Err(error) => Err(refused("write", error)),
        }
    }

    fn nr_hugepages(&self) -> u64 {
        fs::read_to_string(NR_HUGEPAGES).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    async fn set_nr_hugepages(&self, file: PoolFile, count: u64) -> Result<u64, Stop> {
        let path = match file {
            PoolFile::NrHugepages => NR_HUGEPAGES,
            PoolFile::NrHugepagesMempolicy => "/proc/sys/vm/nr_hugepages_mempolicy",
        };
        if let Some(journal) = &self.process.run.job.journal {
            Journal::note(journal, NR_HUGEPAGES).map_err(|error| refused("write", error))?;
        }
        written(path, &count.to_string())?;
        let text = fs::read_to_string(path).map_err(|error| refused("read", error))?;
        text.trim().parse().map_err(|_| refused("read", io::Error::from_raw_os_error(libc::EINVAL)))
    }
}

fn written(path: &str, text: &str) -> Result<(), Stop> {
    fs::write(path, text).map_err(|error| refused("write", error))
}
