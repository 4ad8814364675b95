"use strict";
// Opens a packed series of memory maps: the format is described in crates/snapshot/src/maps/bytes.rs.

// A series with `zones`, a table of blocks, and `map(at)`: a place in the table for each pageblock.
o9.series = async (one) => {
  const [bytes, looks] = await Promise.all([o9.open(`blob-${one.packed}`), o9.open(`blob-${one.looks}`)]);
  const series = unpacked(bytes);
  // The first map, and every tenth after it, are kept whole, so that any one is near.
  const EVERY = 10;
  const kept = [];
  let last = { at: -1, map: null };
  const apply = (map, changes) => {
    for (let run = 0; run < changes.length; run += 3) map.fill(changes[run + 2], changes[run], changes[run] + changes[run + 1]);
  };
  series.map = (at) => {
    if (last.at === at) return last.map;
    let from = Math.floor(at / EVERY);
    while (from >= 0 && !kept[from]) from--;
    let [now, map] = from < 0 ? [-1, new Uint32Array(series.total)] : [from * EVERY, kept[from].slice()];
    if (last.at > now && last.at < at) [now, map] = [last.at, last.map.slice()];
    while (now < at) {
      apply(map, series.changes[++now]);
      if (now % EVERY === 0) kept[now / EVERY] = map.slice();
    }
    last = { at, map };
    return map;
  };
  series.looksOf = looks;
  // The look of every pageblock of a map.
  series.looks = (at) => Uint8Array.from(series.map(at), (block) => looks[block]);
  return series;
};

const unpacked = (bytes) => {
  let at = 0;
  const number = () => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
  };
  let total = 0;
  const zones = Array.from({ length: number() }, () => {
    const zone = { node: number(), kind: number(), first: number(), blocks: number(), from: total };
    total += zone.blocks;
    return zone;
  });
  const [blocks, changes] = [[], []];
  for (let maps = number(); maps > 0; maps--) {
    number(); // The time: sections have it in seconds.
    const count = number();
    const runs = new Uint32Array(3 * count);
    let end = 0;
    for (let run = 0; run < count; run++) {
      const start = end + number();
      const length = number() + 1;
      const block = blocks.length - number();
      runs.set([start, length, block], 3 * run);
      end = start + length;
      // What a new block holds is looked at when the pointer is over it.
      if (block === blocks.length) {
        blocks.push(at);
        number();
        for (let numbers = 2 * number() - 1; numbers > 0; numbers--) number();
      }
    }
    changes.push(runs);
  }
  const block = (place) => {
    at = blocks[place];
    const migratetype = number();
    const classes = Array.from({ length: number() }, number);
    let left = 512;
    const frames = classes.map((kind, nth) => {
      const count = nth === classes.length - 1 ? left : number();
      left -= count;
      return [kind, count];
    });
    return { migratetype, frames };
  };
  return { zones, total, changes, block };
};
