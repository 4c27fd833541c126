//! The account that sandboxes work under, and the few files that every template of ours has alike.

/// The account's name.
pub(super) const USER: &str = "user";
/// The account's number, and that of its group.
pub const USER_ID: u32 = 1000;
/// The account's home.
pub(super) const HOME: &str = "/home/user";
/// Where programs are looked for.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The account in `/etc/passwd`.
pub(super) const PASSWD_LINE: &str = "user:x:1000:1000:user:/home/user:/bin/bash\n";
/// The account's group in `/etc/group`.
pub(super) const GROUP_LINE: &str = "user:x:1000:\n";
/// The account in `/etc/shadow`: no password opens it.
pub(super) const SHADOW_LINE: &str = "user:!:19000:0:99999:7:::\n";

/// `/etc/hostname`; the engine gives each sandbox its own.
pub(super) const HOSTNAME: &str = "carrel\n";
/// `/etc/hosts`.
pub(super) const HOSTS: &str = "127.0.0.1\tlocalhost carrel\n::1\tlocalhost ip6-localhost ip6-loopback\n";
/// `/etc/resolv.conf`: names are the business of the proxy outside, so a question fails at once.
pub(super) const RESOLV_CONF: &str = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
