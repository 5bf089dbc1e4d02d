//! Clouds, hosting, secret managers, networks.

use super::Vendor;
use super::shape::Alphabet::{Alnum, Base64, Dotted, LowerHex, UpperAlnum, Url, Wide};
use super::shape::{Shape, dotted_parts};

#[rustfmt::skip]
pub(super) const VENDORS: &[Vendor] = &[
    Vendor::new("aws", "AWS", "AWS_ACCESS_KEY_ID", &[
        Shape::prefix("AKIA", 16, 16, UpperAlnum),
        Shape::prefix("ASIA", 16, 16, UpperAlnum),
        Shape::prefix("ABIA", 16, 16, UpperAlnum),
        Shape::prefix("ACCA", 16, 16, UpperAlnum),
    ]),
    Vendor::new("aws-secret", "AWS", "AWS_SECRET_ACCESS_KEY", &[]),
    Vendor::new("azure", "Microsoft Entra", "AZURE_CLIENT_SECRET", &[Shape::inside("Q~", 36, 40, Wide).check(is_azure)]),
    Vendor::new("azure-devops", "Azure DevOps", "AZURE_DEVOPS_EXT_PAT", &[Shape::inside("AZDO", 70, 84, Alnum).check(is_azdo)]),
    Vendor::new("azure-openai", "Azure OpenAI", "AZURE_OPENAI_API_KEY", &[]),
    Vendor::new("alibaba", "Alibaba Cloud", "ALIBABA_CLOUD_ACCESS_KEY_ID", &[Shape::prefix("LTAI", 12, 26, Alnum)]),
    Vendor::new("tencent", "Tencent Cloud", "TENCENTCLOUD_SECRET_ID", &[Shape::prefix("AKID", 28, 40, Alnum)]),
    Vendor::new("yandex", "Yandex Cloud", "YC_TOKEN", &[
        Shape::prefix("AQVN", 34, 40, Url),
        Shape::prefix("t1.", 60, 400, Dotted),
        Shape::prefix("y0_", 30, 80, Url),
    ]),
    Vendor::new("digitalocean", "DigitalOcean", "DIGITALOCEAN_ACCESS_TOKEN", &[
        Shape::prefix("dop_v1_", 64, 64, LowerHex),
        Shape::prefix("doo_v1_", 64, 64, LowerHex),
        Shape::prefix("dor_v1_", 64, 64, LowerHex),
    ]),
    Vendor::new("heroku", "Heroku", "HEROKU_API_KEY", &[Shape::prefix("HRKU-", 36, 80, Url)]),
    Vendor::new("fly", "Fly.io", "FLY_API_TOKEN", &[
        Shape::prefix("fm2_", 40, 2000, Base64),
        Shape::prefix("fm1r_", 40, 2000, Base64),
        Shape::prefix("fo1_", 40, 50, Url),
    ]),
    Vendor::new("vercel", "Vercel", "VERCEL_TOKEN", &[
        Shape::prefix("vcp_", 20, 100, Alnum),
        Shape::prefix("vci_", 20, 100, Alnum),
        Shape::prefix("vca_", 20, 100, Alnum),
        Shape::prefix("vcr_", 20, 100, Alnum),
        Shape::prefix("vck_", 20, 100, Alnum),
    ]),
    Vendor::new("netlify", "Netlify", "NETLIFY_AUTH_TOKEN", &[
        Shape::prefix("nfp_", 30, 60, Alnum),
        Shape::prefix("nfc_", 30, 60, Alnum),
        Shape::prefix("nfo_", 30, 60, Alnum),
    ]),
    Vendor::new("cloudflare", "Cloudflare", "CLOUDFLARE_API_TOKEN", &[
        Shape::prefix("cfut_", 40, 60, Url),
        Shape::prefix("cfat_", 40, 60, Url),
        Shape::prefix("cfk_", 40, 60, Url),
        Shape::prefix("v1.0-", 150, 200, Url),
    ]),
    Vendor::new("render", "Render", "RENDER_API_KEY", &[Shape::prefix("rnd_", 24, 40, Alnum)]),
    Vendor::new("railway", "Railway", "RAILWAY_TOKEN", &[]),
    Vendor::new("hetzner", "Hetzner", "HCLOUD_TOKEN", &[]),
    Vendor::new("tailscale", "Tailscale", "TS_AUTHKEY", &[Shape::prefix("tskey-", 20, 90, Url)]),
    Vendor::new("ngrok", "ngrok", "NGROK_AUTHTOKEN", &[]),
    Vendor::new("vault", "HashiCorp Vault", "VAULT_TOKEN", &[
        Shape::prefix("hvs.", 20, 300, Url),
        Shape::prefix("hvb.", 20, 400, Url),
        Shape::prefix("hvr.", 20, 400, Url),
    ]),
    Vendor::new("doppler", "Doppler", "DOPPLER_TOKEN", &[
        Shape::prefix("dp.pt.", 30, 60, Dotted),
        Shape::prefix("dp.st.", 30, 80, Dotted),
        Shape::prefix("dp.ct.", 30, 60, Dotted),
        Shape::prefix("dp.sa.", 30, 60, Dotted),
        Shape::prefix("dp.scim.", 30, 60, Dotted),
    ]),
    Vendor::new("1password", "1Password", "OP_SERVICE_ACCOUNT_TOKEN", &[Shape::prefix("ops_eyJ", 100, 2000, Base64)]),
    Vendor::new("bitwarden", "Bitwarden", "BWS_ACCESS_TOKEN", &[Shape::prefix("0.", 80, 130, Wide).check(is_bitwarden)]),
    Vendor::new("infisical", "Infisical", "INFISICAL_TOKEN", &[Shape::prefix("st.", 60, 120, Dotted).check(|t| t.matches('.').count() >= 3)]),
    Vendor::new("okta", "Okta", "OKTA_API_TOKEN", &[Shape::prefix("00", 40, 40, Url).check(|t| t.bytes().any(|b| b.is_ascii_uppercase()))]),
    Vendor::new("auth0", "Auth0", "AUTH0_CLIENT_SECRET", &[]),
    Vendor::new("clerk", "Clerk", "CLERK_SECRET_KEY", &[]),
    Vendor::new("workos", "WorkOS", "WORKOS_API_KEY", &[Shape::prefix("sk_live_a2V5", 30, 120, Alnum), Shape::prefix("sk_test_a2V5", 30, 120, Alnum)]),
    Vendor::new("alchemy", "Alchemy", "ALCHEMY_API_KEY", &[
        Shape::prefix("alcht_", 28, 40, Alnum),
        Shape::after(".g.alchemy.com/v2/", 20, 64, Url),
    ]),
    Vendor::new("infura", "Infura", "INFURA_API_KEY", &[Shape::after(".infura.io/v3/", 32, 32, LowerHex)]),
    Vendor::new("quicknode", "QuickNode", "QUICKNODE_API_KEY", &[Shape::after(".quiknode.pro/", 32, 64, LowerHex)]),
    Vendor::new("adobe", "Adobe", "ADOBE_CLIENT_SECRET", &[Shape::prefix("p8e-", 32, 32, Url)]),
    Vendor::new("wakatime", "WakaTime", "WAKATIME_API_KEY", &[Shape::prefix("waka_", 36, 36, Url)]),
    Vendor::new("scaleway", "Scaleway", "SCW_SECRET_KEY", &[]),
    Vendor::new("linode", "Linode", "LINODE_TOKEN", &[]),
    Vendor::new("proxmox", "Proxmox", "PROXMOX_TOKEN_VALUE", &[]),
    Vendor::new("home-assistant", "Home Assistant", "HASS_TOKEN", &[]),
];

/// Three characters and a digit before the mark, about thirty-one after it.
fn is_azure(token: &str) -> bool {
    token
        .find("Q~")
        .is_some_and(|at| at == 4 && token.len() >= 37)
        && token.as_bytes().get(3).is_some_and(u8::is_ascii_digit)
}

/// The mark and four more characters at the very end.
fn is_azdo(token: &str) -> bool {
    token.len() == 84 && token.find("AZDO") == Some(76)
}

/// Version, identifier and secret, then the encryption key.
fn is_bitwarden(token: &str) -> bool {
    token
        .split_once(':')
        .is_some_and(|(head, key)| dotted_parts(head, &[1, 36, 30]) && key.len() >= 20)
}
