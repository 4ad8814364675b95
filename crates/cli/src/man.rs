//! `order9 man`: a page for each command, made of the help texts.

use std::io::{self, Write};

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::{Cli, ManArgs};
use crate::failure::Failure;
use crate::folder::Folder;
use crate::output::print_json;

/// Writes all pages into a directory.
pub(crate) fn run(args: &ManArgs) -> Result<(), Failure> {
    let mut folder = Folder::new(&args.output)?;
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    write_pages(&root, "order9", &mut folder)?;
    let written = folder.finish()?;
    if args.json { print_json(&written) } else { Ok(()) }
}

/// Pages of `command` and of the commands below, `name` with their words being joined by `-`.
fn write_pages(command: &Command, name: &str, folder: &mut Folder) -> Result<(), Failure> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    folder.file(&format!("{name}.1"), |out| write_page(command, name, out))
}

fn write_page(command: &Command, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let has_arguments = command.get_arguments().any(|argument| !argument.is_hide_set());
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        // Not empty, for then its place would be that of the source.
        .date(" ")
        .source(concat!("order9 ", env!("CARGO_PKG_VERSION")))
        .manual("order9 Manual");
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    if has_arguments {
        man.render_options_section(out)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    if let Some(text) = command.get_after_help() {
        sections(&text.to_string()).to_writer(out)?;
    }
    see_also(name).to_writer(out)
}

/// The text behind a help as sections: a line that ends in a colon is the heading of the lines that are indented below it,
/// which stand as they are.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut is_verbatim = false;
    for line in text.lines() {
        if is_verbatim != line.starts_with(' ') {
            is_verbatim = !is_verbatim;
            roff.control(if is_verbatim { "EX" } else { "EE" }, []);
        }
        match line.strip_suffix(':') {
            Some(heading) if !is_verbatim => roff.control("SH", [heading.to_uppercase().as_str()]),
            _ if line.is_empty() => roff.control("PP", []),
            _ => roff.text([roman(line)]),
        };
    }
    if is_verbatim {
        roff.control("EE", []);
    }
    roff
}

/// The page of the command above, and how to find the documents.
fn see_also(name: &str) -> Roff {
    let above = name.rsplit_once('-').map(|(above, _)| format!("{above}(1), ")).unwrap_or_default();
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]).text([roman(format!("{above}order9-doc(1): pages on every subject."))]);
    roff
}
