//! The shape of a guest: what QEMU has to make.

use order9_units::Bytes;

/// CPUs, memory and distances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes by number, at least one.
    pub nodes: Vec<NodeShape>,
}

/// A node of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeShape {
    /// Memory of the node, whole MiB.
    pub memory: Bytes,
    /// CPUs of the node; may be none.
    pub cpus: u32,
    /// Distances to all nodes, as in ACPI's SLIT: 10 to itself.
    pub distances: Vec<u8>,
}

impl Default for Shape {
    /// Two CPUs and 2 GiB on one node: enough for most questions, and small enough for any host.
    fn default() -> Self {
        Self { nodes: vec![NodeShape { memory: Bytes::from_gib(2), cpus: 2, distances: vec![10] }] }
    }
}

impl Shape {
    /// Memory of all nodes.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        self.nodes.iter().map(|node| node.memory).sum()
    }

    /// CPUs of all nodes.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.nodes.iter().map(|node| node.cpus).sum()
    }

    /// Shape with the same memory and one CPU, on the first node that had any.
    #[must_use]
    pub fn with_one_cpu(mut self) -> Self {
        let first = self.nodes.iter().position(|node| node.cpus > 0).unwrap_or(0);
        self.nodes.iter_mut().enumerate().for_each(|(number, node)| node.cpus = u32::from(number == first));
        self
    }

    /// Arguments of QEMU. All memory is touched before the guest starts, so that faults of the host are not measured.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mib = |bytes: Bytes| bytes.get() >> 20;
        let mut arguments = vec!["-m".to_owned(), format!("{}M", mib(self.memory()))];
        arguments.extend(["-smp".to_owned(), self.cpus().to_string()]);
        let mut cpu = 0;
        for (number, node) in self.nodes.iter().enumerate() {
            arguments.push("-object".to_owned());
            arguments.push(format!("memory-backend-ram,id=m{number},size={}M,prealloc=on", mib(node.memory)));
            let cpus = match node.cpus {
                0 => String::new(),
                count => format!(",cpus={cpu}-{}", cpu + count - 1),
            };
            cpu += node.cpus;
            arguments.push("-numa".to_owned());
            arguments.push(format!("node,nodeid={number},memdev=m{number}{cpus}"));
        }
        for (from, node) in self.nodes.iter().enumerate() {
            for (to, distance) in node.distances.iter().enumerate().filter(|(to, _)| *to != from) {
                arguments.push("-numa".to_owned());
                arguments.push(format!("dist,src={from},dst={to},val={distance}"));
            }
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qemu_makes_nodes_with_their_cpus_and_distances() {
        let node =
            |cpus, distances: [u8; 2]| NodeShape { memory: Bytes::from_gib(1), cpus, distances: distances.to_vec() };
        let shape = Shape { nodes: vec![node(2, [10, 21]), node(0, [21, 10])] };
        let arguments = shape.arguments().join(" ");
        let expected = "-m 2048M -smp 2 -object memory-backend-ram,id=m0,size=1024M,prealloc=on -numa node,nodeid=0,memdev=m0,cpus=0-1 \
            -object memory-backend-ram,id=m1,size=1024M,prealloc=on -numa node,nodeid=1,memdev=m1 -numa dist,src=0,dst=1,val=21 -numa \
            dist,src=1,dst=0,val=21";
        assert_eq!(arguments, expected);
        let cpus = |shape: Shape| shape.nodes.iter().map(|node| node.cpus).collect::<Vec<_>>();
        assert_eq!(cpus(shape.with_one_cpu()), [1, 0]);
    }
}
