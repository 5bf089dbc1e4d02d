//! Databases, storage, analytics, payment, commerce.

use super::Vendor;
use super::shape::Alphabet::{Alnum, Base64, Dotted, LowerAlnum, LowerHex, Url, Wide};
use super::shape::{Shape, ends_with_uuid};

#[rustfmt::skip]
pub(super) const VENDORS: &[Vendor] = &[
    Vendor::new("supabase", "Supabase", "SUPABASE_ACCESS_TOKEN", &[
        Shape::prefix("sbp_", 40, 60, Url),
        Shape::prefix("sb_secret_", 20, 60, Url),
        Shape::prefix("sb_publishable_", 20, 60, Url).public(),
    ]),
    Vendor::new("neon", "Neon", "NEON_API_KEY", &[
        Shape::prefix("napi_", 40, 90, LowerAlnum),
        Shape::prefix("npg_", 12, 24, Alnum),
    ]),
    Vendor::new("planetscale", "PlanetScale", "PLANETSCALE_SERVICE_TOKEN", &[
        Shape::prefix("pscale_tkn_", 32, 60, Dotted),
        Shape::prefix("pscale_pw_", 32, 60, Dotted),
        Shape::prefix("pscale_oauth_", 32, 60, Dotted),
    ]),
    Vendor::new("databricks", "Databricks", "DATABRICKS_TOKEN", &[
        Shape::prefix("dapi", 32, 34, Url).check(|t| t.bytes().skip(4).take(32).all(|b| b.is_ascii_hexdigit())),
        Shape::prefix("dose", 32, 34, LowerHex),
    ]),
    Vendor::new("snowflake", "Snowflake", "SNOWFLAKE_PASSWORD", &[]),
    Vendor::new("upstash", "Upstash", "UPSTASH_REDIS_REST_TOKEN", &[]),
    Vendor::new("turso", "Turso", "TURSO_AUTH_TOKEN", &[]),
    Vendor::new("convex", "Convex", "CONVEX_DEPLOY_KEY", &[
        Shape::prefix("prod:", 40, 400, Wide).check(is_convex),
        Shape::prefix("dev:", 40, 400, Wide).check(is_convex),
        Shape::prefix("preview:", 40, 400, Wide).check(is_convex),
    ]),
    Vendor::new("xata", "Xata", "XATA_API_KEY", &[Shape::prefix("xau_", 30, 60, Alnum)]),
    Vendor::new("mongodb-atlas", "MongoDB Atlas", "MDB_MCP_API_CLIENT_SECRET", &[
        Shape::prefix("mdb_sa_sk_", 30, 60, Url),
        Shape::prefix("mdb_sa_id_", 20, 40, LowerHex).public(),
    ]),
    Vendor::new("redis", "Redis", "REDIS_PASSWORD", &[]),
    Vendor::new("aiven", "Aiven", "AIVEN_SERVICE_PASSWORD", &[Shape::prefix("AVNS_", 15, 30, Url)]),
    Vendor::new("elastic", "Elasticsearch", "ES_API_KEY", &[]),
    Vendor::new("motherduck", "MotherDuck", "MOTHERDUCK_TOKEN", &[]),
    Vendor::new("airtable", "Airtable", "AIRTABLE_API_KEY", &[
        Shape::prefix("pat", 79, 79, Dotted).check(is_airtable),
        Shape::prefix("key", 14, 14, Alnum).check(has_all_classes),
    ]),
    Vendor::new("algolia", "Algolia", "ALGOLIA_API_KEY", &[]),
    Vendor::new("contentful", "Contentful", "CONTENTFUL_MANAGEMENT_ACCESS_TOKEN", &[Shape::prefix("CFPAT-", 40, 50, Url)]),
    Vendor::new("sanity", "Sanity", "SANITY_API_TOKEN", &[Shape::prefix("sk", 140, 200, Alnum)]),
    Vendor::new("mapbox", "Mapbox", "MAPBOX_ACCESS_TOKEN", &[
        Shape::prefix("sk.eyJ", 50, 200, Dotted),
        Shape::prefix("tk.eyJ", 50, 300, Dotted),
        Shape::prefix("pk.eyJ", 50, 200, Dotted).public(),
    ]),
    Vendor::new("google-maps", "Google Maps", "GOOGLE_MAPS_API_KEY", &[]),
    Vendor::new("dropbox", "Dropbox", "DROPBOX_ACCESS_TOKEN", &[Shape::prefix("sl.", 60, 2000, Url)]),
    Vendor::new("stripe", "Stripe", "STRIPE_SECRET_KEY", &[
        Shape::prefix("sk_live_", 20, 250, Alnum).shared(),
        Shape::prefix("sk_test_", 20, 250, Alnum).shared(),
        Shape::prefix("rk_live_", 20, 250, Alnum),
        Shape::prefix("rk_test_", 20, 250, Alnum),
        Shape::prefix("whsec_", 24, 80, Base64),
        Shape::prefix("pk_live_", 20, 250, Alnum).public(),
        Shape::prefix("pk_test_", 20, 250, Alnum).public(),
    ]),
    Vendor::new("square", "Square", "SQUARE_ACCESS_TOKEN", &[
        Shape::prefix("sq0atp-", 22, 30, Url),
        Shape::prefix("sq0csp-", 40, 50, Url),
        Shape::prefix("EAAA", 58, 64, Url),
    ]),
    Vendor::new("paypal", "PayPal", "PAYPAL_ACCESS_TOKEN", &[
        Shape::prefix("access_token$production$", 40, 60, Wide),
        Shape::prefix("access_token$sandbox$", 40, 60, Wide),
        Shape::prefix("A21AA", 60, 120, Url),
    ]),
    Vendor::new("plaid", "Plaid", "PLAID_SECRET", &[
        Shape::prefix("access-sandbox-", 36, 36, Url).check(ends_with_uuid),
        Shape::prefix("access-development-", 36, 36, Url).check(ends_with_uuid),
        Shape::prefix("access-production-", 36, 36, Url).check(ends_with_uuid),
    ]),
    Vendor::new("paddle", "Paddle", "PADDLE_API_KEY", &[
        Shape::prefix("pdl_live_apikey_", 40, 80, Url),
        Shape::prefix("pdl_sdbx_apikey_", 40, 80, Url),
    ]),
    Vendor::new("lemon-squeezy", "Lemon Squeezy", "LEMONSQUEEZY_API_KEY", &[]),
    Vendor::new("flutterwave", "Flutterwave", "FLW_SECRET_KEY", &[
        Shape::prefix("FLWSECK-", 30, 50, Url),
        Shape::prefix("FLWSECK_TEST-", 30, 50, Url),
    ]),
    Vendor::new("razorpay", "Razorpay", "RAZORPAY_KEY_SECRET", &[
        Shape::prefix("rzp_live_", 14, 20, Alnum).public(),
        Shape::prefix("rzp_test_", 14, 20, Alnum).public(),
    ]),
    Vendor::new("shopify", "Shopify", "SHOPIFY_ACCESS_TOKEN", &[
        Shape::prefix("shpat_", 32, 40, Alnum),
        Shape::prefix("shpss_", 32, 40, Alnum),
        Shape::prefix("shpca_", 32, 40, Alnum),
        Shape::prefix("shppa_", 32, 40, Alnum),
        Shape::prefix("shpua_", 32, 40, Alnum),
        Shape::prefix("shptka_", 32, 40, Alnum),
    ]),
    Vendor::new("shippo", "Shippo", "SHIPPO_API_KEY", &[
        Shape::prefix("shippo_live_", 40, 40, LowerHex),
        Shape::prefix("shippo_test_", 40, 40, LowerHex),
    ]),
    Vendor::new("easypost", "EasyPost", "EASYPOST_API_KEY", &[
        Shape::prefix("EZAK", 54, 54, Alnum),
        Shape::prefix("EZTK", 54, 54, Alnum),
    ]),
    Vendor::new("duffel", "Duffel", "DUFFEL_ACCESS_TOKEN", &[
        Shape::prefix("duffel_live_", 40, 50, Base64),
        Shape::prefix("duffel_test_", 40, 50, Base64),
    ]),
    Vendor::new("lob", "Lob", "LOB_API_KEY", &[
        Shape::prefix("live_", 35, 35, LowerHex),
        Shape::prefix("test_", 35, 35, LowerHex),
    ]),
    Vendor::new("alpaca", "Alpaca", "APCA_API_SECRET_KEY", &[]),
    Vendor::new("polygon", "Polygon", "POLYGON_API_KEY", &[]),
    Vendor::new("coingecko", "CoinGecko", "COINGECKO_API_KEY", &[Shape::prefix("CG-", 24, 24, Alnum)]),
];

/// A deployment, a bar, then the key in base 64.
fn is_convex(token: &str) -> bool {
    token
        .split_once('|')
        .is_some_and(|(name, key)| name.len() > 6 && key.len() >= 30)
}

/// Fourteen letters and digits, a dot, sixty-four hexadecimal digits.
fn is_airtable(token: &str) -> bool {
    token.split_once('.').is_some_and(|(head, tail)| {
        head.len() == 17 && tail.len() == 64 && tail.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

fn has_all_classes(token: &str) -> bool {
    token.bytes().any(|b| b.is_ascii_uppercase())
        && token.bytes().skip(3).any(|b| b.is_ascii_lowercase())
        && token.bytes().filter(u8::is_ascii_digit).count() >= 2
}
