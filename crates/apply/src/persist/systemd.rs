//! A service of systemd that writes the settings once at boot, and a drop-in of `sysinit.target` that wants it, so that nothing has
//! to be enabled (systemd.unit(5)).

use super::{Form, HEADER, Kept, Kind};

const SERVICE: &str = "/etc/systemd/system/order9-settings.service";
const DROP_IN: &str = "/etc/systemd/system/sysinit.target.d/60-order9.conf";

/// After everything else of the system that writes settings.
const UNIT: &str = "\
[Unit]
Description=Memory settings of order9
DefaultDependencies=no
Conflicts=shutdown.target
After=systemd-sysctl.service systemd-tmpfiles-setup.service
Before=sysinit.target shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
";

const WANTS: &str = "[Unit]\nWants=order9-settings.service\n";

pub(super) fn forms(held: &[Kept]) -> [Form; 2] {
    // Values are numbers and words of the kernel: nothing in them means anything to a shell or to systemd. A setting that
    // another kernel has not must not keep the rest from being written, so that a failure is passed over (`-`).
    let line = |kept: &Kept| format!("ExecStart=-/bin/sh -c 'echo \"{}\" >{}'\n", kept.value, kept.path());
    let lines: String = held.iter().map(line).collect();
    let form = |path: &str, text| Form { kind: Kind::Systemd, path: Some(path.to_owned()), text };
    [form(SERVICE, format!("{HEADER}{UNIT}{lines}")), form(DROP_IN, format!("{HEADER}{WANTS}"))]
}

#[cfg(test)]
mod tests {
    use super::super::tests::kept;
    use super::*;

    #[test]
    fn a_service_writes_settings_of_both_kinds() {
        let [service, drop_in] = forms(&kept()[1..3]);
        let text = "# Written by `order9 apply`. `order9 undo` removes it.\n\
                    [Unit]\n\
                    Description=Memory settings of order9\n\
                    DefaultDependencies=no\n\
                    Conflicts=shutdown.target\n\
                    After=systemd-sysctl.service systemd-tmpfiles-setup.service\n\
                    Before=sysinit.target shutdown.target\n\
                    \n\
                    [Service]\n\
                    Type=oneshot\n\
                    RemainAfterExit=yes\n\
                    ExecStart=-/bin/sh -c 'echo \"256 128 32\" >/proc/sys/vm/lowmem_reserve_ratio'\n\
                    ExecStart=-/bin/sh -c 'echo \"madvise\" >/sys/kernel/mm/transparent_hugepage/enabled'\n";
        assert_eq!(service.text, text);
        let text = "# Written by `order9 apply`. `order9 undo` removes it.\n[Unit]\nWants=order9-settings.service\n";
        assert_eq!(drop_in.text, text);
    }
}
