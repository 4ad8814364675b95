"""Compares two policies on a made-up host, and says which one gives more huge pages."""

import order9 as o9


def main() -> None:
    host = o9.Snapshot.synth("1G", fill=0.6, seed=7)
    print(f"{host.name}: {host.inspect().recoverable_huge_pages} huge pages could be recovered by moving pages")
    run = o9.run("map-and-write", machine=host, policy=["linux-6.18", "order9"], seeds=2, params={"size": "128M"}, progress=False)
    print(run.compare())
    for row in zip(*run.runs().to_pydict().values()):
        print(*row[2:6])


if __name__ == "__main__":
    main()
