//! Client certificates and keys: what opens, what stays shut, and why.

use super::*;

/// Writes a file in PEM; no literal in this file is one.
fn pem(label: &str, body: &str) -> String {
    format!("-----BEGIN {label}-----\n{body}-----END {label}-----\n")
}

fn open(key: &str, passphrase: Option<&str>) -> Result<String, IdentityError> {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, path) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    keyway_files::write::create(&certificate, b"certificate", 0o600).unwrap();
    keyway_files::write::create(&path, key.as_bytes(), 0o600).unwrap();
    let files = Files {
        certificate,
        key: path,
        passphrase: passphrase.map(|text| Secret::new(text.to_owned())),
    };
    let identity = files.read()?;
    assert_eq!(identity.chain, b"certificate");
    Ok(String::from_utf8(identity.key.expose().clone()).unwrap())
}

#[test]
fn keys_of_openssl_are_opened_with_their_passphrase() {
    let plain = pem("PRIVATE KEY", PLAIN);
    assert_eq!(open(&plain, None).unwrap(), plain);
    for body in [PBKDF2, SCRYPT] {
        let locked = pem("ENCRYPTED PRIVATE KEY", body);
        assert_eq!(open(&locked, Some("open-sesame")).unwrap(), plain);
        // Other things may stand beside it.
        let beside = format!("Bag Attributes\n{locked}");
        assert_eq!(open(&beside, Some("open-sesame")).unwrap(), plain);
    }
}

#[test]
fn a_key_that_stays_shut_says_why_and_what_to_do() {
    let locked = pem("ENCRYPTED PRIVATE KEY", PBKDF2);
    let error = open(&locked, None).unwrap_err();
    assert!(matches!(error, IdentityError::Encrypted { .. }), "{error}");
    assert!(error.hint().unwrap().contains("--key-passphrase-env"));
    let error = open(&locked, Some("guess")).unwrap_err();
    assert!(
        matches!(error, IdentityError::WrongPassphrase { .. }),
        "{error}"
    );
    let header = format!("Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n{PLAIN}");
    for old in [
        pem("EC PRIVATE KEY", &header),
        pem("ENCRYPTED PRIVATE KEY", PBES1),
        pem("ENCRYPTED PRIVATE KEY", "AAAA\n"),
    ] {
        let error = open(&old, Some("open-sesame")).unwrap_err();
        assert!(
            matches!(error, IdentityError::OldEncryption { .. }),
            "{error}"
        );
        assert!(error.hint().unwrap().contains("openssl pkcs8 -topk8"));
    }
}

#[test]
fn endless_files_are_not_read_to_their_end() {
    let error = open(&"x".repeat(LIMIT + 1), None).unwrap_err();
    assert!(matches!(error, IdentityError::TooLarge { .. }), "{error}");
}

/// A key that guards nothing, and the same key as OpenSSL 3 locks it.
const PLAIN: &str = "\
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgoggCX8vtk0Pcv2DZ
2dJ30fKAfCcYEAlbL/pMaC+ast2hRANCAAR7WypHkMbugSg3uKgyUCkB3thMWKoL
htJRLyZT7m6J0IHam+2Zf6xRzXDshTYtyMLJpAM/rpXjCfx3vTVuV4NY
";
const PBKDF2: &str = "\
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjEDRlP3bNaaAICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEFwDmLbz3aZZvDZ+n8ReQvgEgZDd
pFjcn+snPo9udVt9piIO3h+tE89Wr54ej9qvSkV1KTbx98CHEILeUzxeBhM2PTSX
+VLWgiNzW68rBTXnd6asIGDk6pWqyCTawbFhlCv7Nh/ExODtHJFi1+omwcbiqzFm
w2DjzuIgQUiDQukFrDDRbS4S3jhW8U1fRYKJ9enbMMtIlFMxG8nhauTkJYz8Fmc=
";
const SCRYPT: &str = "\
MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAhFad7P9I9IDQICQAAC
AQgCAQEwHQYJYIZIAWUDBAEqBBAxM4pX8bdQ3L/+RuAkJoCsBIGQIyh1KNPwHffZ
bkbc4LR6I6HGVv0U0ZeebJL6rhrPE4toNAQJj00RCJFwuG8IA+DYI2ixHbWqmZD/
uN2uesWyOnA+F4mihKkmAeSMXPq6ISsx82l4rw6zM5KK1MxazoXSzdKFZqSGf2in
y/lHTx1xqrUp/ScX4DInD2lU6Ki5SmNXtb26HleTMe1T6ofhwomd
";
const PBES1: &str = "\
MIGxMBwGCiqGSIb3DQEMAQMwDgQIeFAg557XPWUCAggABIGQcKOS/GQ5VB1gYRHa
ws0BmwjDiwa92gnizMWi66Ox1TmsDCNeK53sEyvi/wdCh+4LzyYIogD6iFMNOr8U
5gproVZlSivw22C8aRWBa2PxShs8WaOz0HJhQMKs9Ly+O54hXE/xpdiMzrut+Y+g
xXKyb1pBNhCAV3uQ8BjUMEscDu5lZ+wyhnant//2oQ4qtCDO
";
