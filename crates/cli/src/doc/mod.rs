//! `order9 doc`: pages of the documents, and what a name of this subject means, in the terminal.

mod pages;
mod topics;

use order9_toml::{nearest, proposal, shown};

use crate::args::DocArgs;
use crate::failure::Failure;
use crate::output::print_json;
use crate::pager;

/// Shows a topic, or names all.
pub(crate) fn run(args: &DocArgs) -> Result<(), Failure> {
    let topic = args.topic.join(" ");
    if topic.is_empty() && args.json {
        return print_json(&topics::names());
    }
    if topic.is_empty() {
        return pager::show(&topics::list());
    }
    let parts = topics::parts(&topic);
    if parts.is_empty() {
        let near = proposal(nearest(&topic, topics::names()));
        return Err(Failure::Usage(format!("no topic is called {}: `order9 doc` names all{near}", shown(&topic))));
    }
    if args.json { print_json(&parts) } else { pager::show(&parts.join("\n")) }
}
