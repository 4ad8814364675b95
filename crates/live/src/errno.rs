//! Names of the errors of system calls, as errno(3) has them.

use std::io;

use order9_workloads::Stop;

/// Errors that calls of workloads meet. Another one is told by its number.
const NAMES: &[(i32, &str)] = &[
    (libc::EPERM, "EPERM"),
    (libc::ENOENT, "ENOENT"),
    (libc::ESRCH, "ESRCH"),
    (libc::EINTR, "EINTR"),
    (libc::EIO, "EIO"),
    (libc::EBADF, "EBADF"),
    (libc::ECHILD, "ECHILD"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::EACCES, "EACCES"),
    (libc::EFAULT, "EFAULT"),
    (libc::EBUSY, "EBUSY"),
    (libc::EEXIST, "EEXIST"),
    (libc::ENODEV, "ENODEV"),
    (libc::ENOTDIR, "ENOTDIR"),
    (libc::EISDIR, "EISDIR"),
    (libc::EINVAL, "EINVAL"),
    (libc::ENFILE, "ENFILE"),
    (libc::EMFILE, "EMFILE"),
    (libc::EFBIG, "EFBIG"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::EROFS, "EROFS"),
    (libc::ENOSYS, "ENOSYS"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::EOVERFLOW, "EOVERFLOW"),
    (libc::EDQUOT, "EDQUOT"),
];

/// The name of an error.
fn name(number: i32) -> &'static str {
    let known = NAMES.iter().find(|(of, _)| *of == number).map(|&(_, name)| name);
    // A program ends with such an error, so this happens once or twice in its life.
    known.unwrap_or_else(|| String::leak(format!("error {number}")))
}

/// The stop of a program whose call was refused with `error`.
pub(crate) fn refused(call: &'static str, error: impl Into<io::Error>) -> Stop {
    let errno = error.into().raw_os_error().map_or("an error without a number", name);
    Stop::Refused { call, errno }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_names_of_errno() {
        let of = |number| refused("mmap", io::Error::from_raw_os_error(number)).to_string();
        assert_eq!(of(libc::ENOMEM), "mmap failed with ENOMEM");
        assert_eq!(of(libc::EXDEV), "mmap failed with error 18");
    }
}
