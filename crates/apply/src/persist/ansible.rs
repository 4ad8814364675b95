//! Tasks of Ansible: the module `ansible.posix.sysctl` for files of /proc/sys, a file of tmpfiles.d(5) for those of /sys.

use super::{Form, Kept, Kind, sysctl_d, tmpfiles_d};

pub(super) fn form(held: &[Kept]) -> Form {
    let (sysctls, others): (Vec<_>, Vec<_>) = held.iter().cloned().partition(|kept| kept.target.is_sysctl());
    let mut text = String::from("---\n");
    text.extend(sysctls.iter().map(sysctl));
    if !others.is_empty() {
        text += &files(&others);
    }
    Form { kind: Kind::Ansible, path: None, text }
}

fn sysctl(kept: &Kept) -> String {
    let (name, value, file) = (kept.name(), &kept.value, sysctl_d::PATH);
    format!(
        "- name: Set {name}\n\
         \x20 become: true\n\
         \x20 ansible.posix.sysctl:\n\
         \x20   name: {name}\n\
         \x20   value: \"{value}\"\n\
         \x20   sysctl_file: {file}\n\
         \x20   sysctl_set: true\n"
    )
}

fn files(held: &[Kept]) -> String {
    let lines: String = held.iter().map(|kept| format!("      {}", tmpfiles_d::line(kept))).collect();
    let file = tmpfiles_d::PATH;
    format!(
        "- name: Keep settings below /sys\n\
         \x20 become: true\n\
         \x20 ansible.builtin.copy:\n\
         \x20   dest: {file}\n\
         \x20   mode: \"0644\"\n\
         \x20   content: |\n\
         {lines}\
         - name: Set them now\n\
         \x20 become: true\n\
         \x20 ansible.builtin.command: systemd-tmpfiles --create {file}\n\
         \x20 changed_when: true\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::kept;
    use super::*;

    #[test]
    fn tasks_set_and_keep_settings_of_both_kinds() {
        let text = "\
---
- name: Set vm.lowmem_reserve_ratio
  become: true
  ansible.posix.sysctl:
    name: vm.lowmem_reserve_ratio
    value: \"256 128 32\"
    sysctl_file: /etc/sysctl.d/60-order9.conf
    sysctl_set: true
- name: Keep settings below /sys
  become: true
  ansible.builtin.copy:
    dest: /etc/tmpfiles.d/order9.conf
    mode: \"0644\"
    content: |
      w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise
- name: Set them now
  become: true
  ansible.builtin.command: systemd-tmpfiles --create /etc/tmpfiles.d/order9.conf
  changed_when: true
";
        assert_eq!(form(&kept()[1..3]).text, text);
    }
}
