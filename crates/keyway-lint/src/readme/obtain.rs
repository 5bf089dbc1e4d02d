//! Where a person gets a vendor's token, and the least that it has to be allowed to do.

use crate::secrets::vendor_of_variable;

/// The page where a token is made, and what to choose there.
pub(super) struct Obtain {
    vendor: &'static str,
    page: &'static str,
    least: &'static str,
}

/// Says how to get the value of a variable, if its vendor is known.
pub(super) fn how_to_get(variable: &str) -> Option<String> {
    let vendor = vendor_of_variable(variable)?;
    let known = PAGES.iter().find(|page| page.vendor == vendor.id)?;
    let Obtain { page, least, .. } = known;
    Some(format!("create it at <{page}>: {least}"))
}

const fn at(vendor: &'static str, page: &'static str, least: &'static str) -> Obtain {
    Obtain {
        vendor,
        page,
        least,
    }
}

const ONE_USE: &str = "one key for this use alone, so that it can be revoked alone";

/// By vendor, in the order of the alphabet.
#[rustfmt::skip]
const PAGES: &[Obtain] = &[
    at("airtable", "https://airtable.com/create/tokens", "`data.records:read` and `schema.bases:read`, for the bases in question"),
    at("anthropic", "https://console.anthropic.com/settings/keys", ONE_USE),
    at("apify", "https://console.apify.com/settings/integrations", "a token limited to the actors in question"),
    at("atlassian", "https://id.atlassian.com/manage-profile/security/api-tokens", "an API token with read scopes and an expiry"),
    at("brave", "https://api-dashboard.search.brave.com/app/keys", ONE_USE),
    at("circleci", "https://app.circleci.com/settings/user/tokens", ONE_USE),
    at("cloudflare", "https://dash.cloudflare.com/profile/api-tokens", "the template for reading, limited to the account or zone"),
    at("confluence", "https://id.atlassian.com/manage-profile/security/api-tokens", "an API token with read scopes and an expiry"),
    at("datadog", "https://app.datadoghq.com/organization-settings/api-keys", ONE_USE),
    at("digitalocean", "https://cloud.digitalocean.com/account/api/tokens", "custom scopes, reading only"),
    at("elevenlabs", "https://elevenlabs.io/app/settings/api-keys", "a key with only the endpoints in question"),
    at("exa", "https://dashboard.exa.ai/api-keys", ONE_USE),
    at("figma", "https://www.figma.com/settings", "`file_content:read`, in the tab Security"),
    at("firecrawl", "https://www.firecrawl.dev/app/api-keys", ONE_USE),
    at("gemini", "https://aistudio.google.com/apikey", ONE_USE),
    at("github", "https://github.com/settings/personal-access-tokens/new", "a fine-grained token for the repositories in question, reading only"),
    at("gitlab", "https://gitlab.com/-/user_settings/personal_access_tokens", "`read_api`, with an expiry"),
    at("google", "https://console.cloud.google.com/apis/credentials", "a key restricted to the API in question"),
    at("google-maps", "https://console.cloud.google.com/google/maps-apis/credentials", "a key restricted to the Maps APIs in question"),
    at("groq", "https://console.groq.com/keys", ONE_USE),
    at("hugging-face", "https://huggingface.co/settings/tokens", "a token of the type `read`"),
    at("jira", "https://id.atlassian.com/manage-profile/security/api-tokens", "an API token with read scopes and an expiry"),
    at("linear", "https://linear.app/settings/account/security", "a personal key that may read"),
    at("mistral", "https://console.mistral.ai/api-keys", ONE_USE),
    at("neon", "https://console.neon.tech/app/settings/api-keys", "a key limited to the project"),
    at("netlify", "https://app.netlify.com/user/applications", "a token with an expiry"),
    at("notion", "https://www.notion.so/profile/integrations", "an integration that reads content, shared with the pages in question"),
    at("npm", "https://www.npmjs.com/settings/~/tokens", "a granular token, reading only"),
    at("openai", "https://platform.openai.com/api-keys", "a restricted key of a project"),
    at("openrouter", "https://openrouter.ai/settings/keys", "a key with a credit limit"),
    at("perplexity", "https://www.perplexity.ai/account/api/keys", ONE_USE),
    at("postman", "https://go.postman.co/settings/me/api-keys", "a key with an expiry"),
    at("pypi", "https://pypi.org/manage/account/token/", "a token of one project"),
    at("replicate", "https://replicate.com/account/api-tokens", ONE_USE),
    at("resend", "https://resend.com/api-keys", "sending access, for one domain"),
    at("sentry", "https://sentry.io/settings/account/api/auth-tokens/", "`org:read`, `project:read` and `event:read`"),
    at("slack", "https://api.slack.com/apps", "a bot token with the read scopes of the channels in question"),
    at("stripe", "https://dashboard.stripe.com/apikeys", "a restricted key, reading only"),
    at("supabase", "https://supabase.com/dashboard/account/tokens", ONE_USE),
    at("tavily", "https://app.tavily.com/home", ONE_USE),
    at("todoist", "https://app.todoist.com/app/settings/integrations/developer", ONE_USE),
    at("vercel", "https://vercel.com/account/settings/tokens", "a token of one team, with an expiry"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::vendors;

    #[test]
    fn every_page_is_of_a_vendor_that_is_known_and_encrypted() {
        for pair in PAGES.windows(2) {
            assert!(pair[0].vendor < pair[1].vendor, "{}", pair[1].vendor);
        }
        for page in PAGES {
            assert!(
                vendors().iter().any(|vendor| vendor.id == page.vendor),
                "{}",
                page.vendor
            );
            assert!(page.page.starts_with("https://"), "{}", page.page);
        }
    }

    #[test]
    fn usual_names_of_a_token_lead_to_its_page() {
        for name in [
            "GITHUB_TOKEN",
            "GITHUB_PERSONAL_ACCESS_TOKEN",
            "MY_GITHUB_TOKEN",
        ] {
            let text = how_to_get(name).unwrap_or_default();
            assert!(text.contains("github.com/settings"), "{name}: {text}");
        }
        assert_eq!(how_to_get("TENANT_ID"), None);
    }
}
