//! An input that is several files: each begins with a line `== PATH`, and what follows is its contents. Only the paths of a
//! list are taken, so that nothing is written elsewhere.

/// The files of an input: paths of `known`, and bytes.
pub(crate) fn sections<'a>(input: &'a [u8], known: &[&'static str]) -> Vec<(&'static str, &'a [u8])> {
    const MARK: &[u8] = b"== ";
    let starts: Vec<usize> =
        (0..input.len()).filter(|&at| input[at..].starts_with(MARK) && (at == 0 || input[at - 1] == b'\n')).collect();
    let ends = starts.iter().skip(1).copied().chain([input.len()]);
    let parts = starts.iter().zip(ends).map(|(&start, end)| &input[start + MARK.len()..end]);
    let files = parts.filter_map(|part| {
        let line = part.iter().position(|&byte| byte == b'\n')?;
        let path = known.iter().find(|path| path.as_bytes() == &part[..line])?;
        Some((*path, &part[line + 1..]))
    });
    files.collect()
}
