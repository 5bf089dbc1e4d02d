//! Source hosting, package registries, build services, observability.

use super::Vendor;
use super::shape::Alphabet::{Alnum, Base64, Dotted, LowerAlnum, LowerHex, UpperAlnum, Url};
use super::shape::{Shape, crc32_base62, dotted_parts, ends_with_uuid};

#[rustfmt::skip]
pub(super) const VENDORS: &[Vendor] = &[
    Vendor::new("github", "GitHub", "GITHUB_TOKEN", &[
        Shape::prefix("ghp_", 36, 255, Alnum).checksum(crc32_base62),
        Shape::prefix("gho_", 36, 255, Alnum).checksum(crc32_base62),
        Shape::prefix("ghu_", 36, 255, Alnum).checksum(crc32_base62),
        Shape::prefix("ghs_", 36, 255, Alnum).checksum(crc32_base62),
        Shape::prefix("ghr_", 36, 255, Alnum).checksum(crc32_base62),
        Shape::prefix("github_pat_", 50, 255, Url),
    ]),
    Vendor::new("gitlab", "GitLab", "GITLAB_TOKEN", &[
        Shape::prefix("glpat-", 20, 300, Dotted),
        Shape::prefix("gldt-", 20, 300, Dotted),
        Shape::prefix("glrt-", 20, 300, Dotted),
        Shape::prefix("glptt-", 40, 300, Dotted),
        Shape::prefix("glcbt-", 20, 300, Dotted),
        Shape::prefix("glsoat-", 20, 300, Dotted),
        Shape::prefix("glimt-", 20, 300, Dotted),
        Shape::prefix("glagent-", 40, 300, Dotted),
        Shape::prefix("glft-", 20, 300, Dotted),
        Shape::prefix("gloas-", 40, 300, Dotted),
    ]),
    Vendor::new("bitbucket", "Bitbucket", "BITBUCKET_APP_PASSWORD", &[Shape::prefix("ATBB", 28, 40, Alnum)]),
    Vendor::new("atlassian", "Atlassian", "ATLASSIAN_API_TOKEN", &[
        Shape::prefix("ATATT3", 50, 400, Base64),
        Shape::prefix("ATCTT3", 50, 400, Base64),
    ]),
    Vendor::new("jira", "Jira", "JIRA_API_TOKEN", &[]),
    Vendor::new("confluence", "Confluence", "CONFLUENCE_API_TOKEN", &[]),
    Vendor::new("trello", "Trello", "TRELLO_TOKEN", &[Shape::prefix("ATTA", 60, 90, LowerHex)]),
    Vendor::new("gitea", "Gitea", "GITEA_ACCESS_TOKEN", &[]),
    Vendor::new("sourcegraph", "Sourcegraph", "SRC_ACCESS_TOKEN", &[Shape::prefix("sgp_", 40, 70, Url)]),
    Vendor::new("npm", "npm", "NPM_TOKEN", &[Shape::prefix("npm_", 36, 36, Alnum).checksum(crc32_base62)]),
    Vendor::new("pypi", "PyPI", "PYPI_TOKEN", &[Shape::prefix("pypi-", 60, 400, Url)]),
    Vendor::new("rubygems", "RubyGems", "GEM_HOST_API_KEY", &[Shape::prefix("rubygems_", 48, 48, LowerHex)]),
    Vendor::new("crates-io", "crates.io", "CARGO_REGISTRY_TOKEN", &[Shape::prefix("cio", 32, 32, Alnum)]),
    Vendor::new("nuget", "NuGet", "NUGET_API_KEY", &[Shape::prefix("oy2", 43, 43, LowerAlnum)]),
    Vendor::new("docker", "Docker Hub", "DOCKER_PAT", &[
        Shape::prefix("dckr_pat_", 20, 60, Url),
        Shape::prefix("dckr_oat_", 20, 60, Url),
    ]),
    Vendor::new("jfrog", "JFrog", "JFROG_ACCESS_TOKEN", &[
        Shape::prefix("AKCp", 60, 100, Alnum),
        Shape::prefix("cmVmdGtu", 50, 70, Alnum),
    ]),
    Vendor::new("circleci", "CircleCI", "CIRCLECI_TOKEN", &[
        Shape::prefix("CCIPAT_", 30, 120, Url),
        Shape::prefix("CCIPRJ_", 30, 120, Url),
    ]),
    Vendor::new("buildkite", "Buildkite", "BUILDKITE_API_TOKEN", &[Shape::prefix("bkua_", 40, 40, LowerHex)]),
    Vendor::new("pulumi", "Pulumi", "PULUMI_ACCESS_TOKEN", &[Shape::prefix("pul-", 40, 40, LowerHex)]),
    Vendor::new("terraform", "HCP Terraform", "TFE_TOKEN", &[Shape::inside(".atlasv1.", 60, 120, Url)]),
    Vendor::new("prefect", "Prefect", "PREFECT_API_KEY", &[
        Shape::prefix("pnu_", 36, 36, Alnum),
        Shape::prefix("pnb_", 36, 36, Alnum),
    ]),
    Vendor::new("sonar", "SonarQube", "SONAR_TOKEN", &[
        Shape::prefix("squ_", 40, 40, LowerHex),
        Shape::prefix("sqp_", 40, 40, LowerHex),
        Shape::prefix("sqa_", 40, 40, LowerHex),
    ]),
    Vendor::new("snyk", "Snyk", "SNYK_TOKEN", &[]),
    Vendor::new("socket", "Socket", "SOCKET_API_KEY", &[Shape::prefix("sktsec_", 30, 80, Url)]),
    Vendor::new("codacy", "Codacy", "CODACY_ACCOUNT_TOKEN", &[]),
    Vendor::new("sentry", "Sentry", "SENTRY_AUTH_TOKEN", &[
        Shape::prefix("sntrys_", 60, 600, Base64),
        Shape::prefix("sntryu_", 60, 70, LowerHex),
        Shape::prefix("sntrya_", 60, 70, LowerHex),
    ]),
    Vendor::new("posthog", "PostHog", "POSTHOG_PERSONAL_API_KEY", &[
        Shape::prefix("phx_", 30, 80, Alnum),
        Shape::prefix("phc_", 30, 80, Alnum).public(),
    ]),
    Vendor::new("grafana", "Grafana", "GRAFANA_SERVICE_ACCOUNT_TOKEN", &[
        Shape::prefix("glsa_", 35, 60, Url),
        Shape::prefix("glc_", 32, 400, Base64),
    ]),
    Vendor::new("datadog", "Datadog", "DD_API_KEY", &[]),
    Vendor::new("new-relic", "New Relic", "NEW_RELIC_API_KEY", &[
        Shape::prefix("NRAK-", 27, 27, UpperAlnum),
        Shape::prefix("NRII-", 30, 34, Url),
        Shape::prefix("NRAA-", 27, 27, LowerHex),
    ]),
    Vendor::new("dynatrace", "Dynatrace", "DT_PLATFORM_TOKEN", &[
        Shape::prefix("dt0c01.", 80, 100, Dotted),
        Shape::prefix("dt0s16.", 40, 100, Dotted),
        Shape::prefix("dt0s01.", 40, 100, Dotted),
    ]),
    Vendor::new("honeycomb", "Honeycomb", "HONEYCOMB_API_KEY", &[
        Shape::prefix("hcaik_", 40, 70, Alnum),
        Shape::prefix("hcamk_", 40, 90, Url),
    ]),
    Vendor::new("axiom", "Axiom", "AXIOM_TOKEN", &[
        Shape::prefix("xaat-", 36, 36, Url).check(ends_with_uuid),
        Shape::prefix("xapt-", 36, 36, Url).check(ends_with_uuid),
    ]),
    Vendor::new("pagerduty", "PagerDuty", "PAGERDUTY_API_KEY", &[]),
    Vendor::new("launchdarkly", "LaunchDarkly", "LAUNCHDARKLY_API_KEY", &[
        Shape::prefix("api-", 36, 36, Url).check(ends_with_uuid),
        Shape::prefix("sdk-", 36, 36, Url).check(ends_with_uuid),
    ]),
    Vendor::new("postman", "Postman", "POSTMAN_API_KEY", &[Shape::prefix("PMAK-", 50, 70, Url)]),
    Vendor::new("readme", "ReadMe", "README_API_KEY", &[Shape::prefix("rdme_", 60, 80, Alnum)]),
    Vendor::new("figma", "Figma", "FIGMA_API_KEY", &[
        Shape::prefix("figd_", 30, 80, Url),
        Shape::prefix("figo_", 30, 80, Url),
    ]),
    Vendor::new("retool", "Retool", "RETOOL_API_TOKEN", &[Shape::prefix("retool_", 20, 60, Alnum)]),
    Vendor::new("dbt", "dbt", "DBT_TOKEN", &[
        Shape::prefix("dbtc_", 30, 80, Url),
        Shape::prefix("dbtu_", 30, 80, Url),
    ]),
    Vendor::new("metabase", "Metabase", "METABASE_API_KEY", &[Shape::prefix("mb_", 40, 50, Base64)]),
    Vendor::new("jwt", "JSON Web Token", "", &[Shape::prefix("eyJ", 30, 8192, Dotted).check(is_jwt)]),
    Vendor::new("private-key", "Private key", "PRIVATE_KEY", &[]),
    Vendor::new("age", "age", "AGE_SECRET_KEY", &[Shape::prefix("AGE-SECRET-KEY-1", 58, 58, UpperAlnum)]),
];

/// Three or five parts, of which the second is an object too (absent in an encrypted token).
fn is_jwt(token: &str) -> bool {
    let mut parts = token.split('.');
    let header = parts.next().unwrap_or_default();
    let payload = parts.next().unwrap_or_default();
    header.len() >= 16
        && (payload.starts_with("eyJ") && dotted_parts(token, &[0, 0, 0])
            || dotted_parts(token, &[0, 0, 0, 0, 0]))
}
