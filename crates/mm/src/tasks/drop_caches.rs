//! Writes to `vm.drop_caches`. The caller pays for the last step.

use crate::env::Env;
use crate::page_cache::DropPagecache;
use crate::shrinker::{DropSlab, ShrinkStep};

/// Drops all pages of files on disk that can be dropped: `vm.drop_caches` with 1.
pub async fn drop_pagecache(env: &impl Env) {
    let mut run = env.with(|mm| DropPagecache::new(env.cpu(), &mut mm.phys));
    while env.with(|mm| run.step(&mut mm.pages, &mut mm.phys)).is_none() {
        env.spend().await;
    }
}

/// Drops all slab that can be dropped: `vm.drop_caches` with 2.
pub async fn drop_slab(env: &impl Env) {
    let mut run = env.with(|mm| DropSlab::new(env.cpu(), &mut mm.phys));
    while let ShrinkStep::Progress = env.with(|mm| run.step(&mut mm.pages, &mut mm.phys)) {
        env.spend().await;
    }
}
