//! Signed file addresses: a link that reads or writes one path without the token.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

/// What a signed address allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// To download.
    Read,
    /// To upload.
    Write,
}

/// The signature of a path for a user (empty when none is named), until a moment in unix seconds if one is given.
pub fn sign(path: &str, operation: Operation, user: &str, token: &str, until: Option<i64>) -> String {
    let operation = match operation {
        Operation::Read => "read",
        Operation::Write => "write",
    };
    let mut text = format!("{path}:{operation}:{user}:{token}");
    if let Some(until) = until {
        text.push_str(&format!(":{until}"));
    }
    format!("v1_{}", STANDARD_NO_PAD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_vectors_of_the_official_sdks_come_out() {
        let token = "tok-envd-123";
        let read = Operation::Read;
        let write = Operation::Write;
        for (path, operation, user, until, expected) in [
            ("/home/user/a.txt", read, "", None, "v1_j7fXDIvmF57UpeUuvssaYUojzXr7bdyWcI5g0dhlEP8"),
            ("/home/user/a.txt", write, "", None, "v1_fjQaCRroSGmiG8DjQ+GV0BNu/9hRDZ0ZjqotN3HK1/4"),
            ("/a", read, "", None, "v1_mA8XNS6xk5xCBMlk6y7YTz9P7iHfOElM1/GGUASm6sk"),
            ("", write, "", None, "v1_OKv/dV3clrqE0Q17zayEqu5aD1ANeUkElquj8VDnKfQ"),
            ("/home/user/a.txt", read, "root", Some(1794767020), "v1_F4E2wVy59eL6q+yADGuzVlm4YP2+Mbvh1U+jjVoutfo"),
        ] {
            assert_eq!(sign(path, operation, user, token, until), expected);
        }
    }
}
