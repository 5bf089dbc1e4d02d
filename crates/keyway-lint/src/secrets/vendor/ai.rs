//! Models, search, scraping and agent platforms.

use super::Vendor;
use super::shape::Alphabet::{Alnum, Base64, LowerAlnum, LowerHex, Url, Wide};
use super::shape::{Shape, ends_with_uuid};

#[rustfmt::skip]
pub(super) const VENDORS: &[Vendor] = &[
    Vendor::new("anthropic", "Anthropic", "ANTHROPIC_API_KEY", &[Shape::prefix("sk-ant-", 20, 250, Url)]),
    Vendor::new("openai", "OpenAI", "OPENAI_API_KEY", &[
        Shape::prefix("sk-proj-", 20, 250, Url),
        Shape::prefix("sk-svcacct-", 20, 250, Url),
        Shape::prefix("sk-admin-", 20, 250, Url),
        Shape::prefix("sk-None-", 20, 250, Url),
        Shape::prefix("sk-", 33, 200, Url).shared(),
        Shape::prefix("sk-", 20, 31, Alnum).shared(),
        Shape::prefix("sess-", 40, 48, Alnum),
    ]),
    Vendor::new("deepseek", "DeepSeek", "DEEPSEEK_API_KEY", &[Shape::prefix("sk-", 32, 32, LowerHex).shared()]),
    Vendor::new("dashscope", "Alibaba Model Studio", "DASHSCOPE_API_KEY", &[]),
    Vendor::new("moonshot", "Moonshot AI", "MOONSHOT_API_KEY", &[]),
    Vendor::new("siliconflow", "SiliconFlow", "SILICONFLOW_API_KEY", &[]),
    Vendor::new("openrouter", "OpenRouter", "OPENROUTER_API_KEY", &[Shape::prefix("sk-or-", 40, 120, Url)]),
    Vendor::new("google", "Google API", "GOOGLE_API_KEY", &[
        Shape::prefix("AIza", 35, 35, Url),
        Shape::prefix("AQ.", 30, 120, Url),
    ]),
    Vendor::new("google-oauth", "Google OAuth", "GOOGLE_CLIENT_SECRET", &[
        Shape::prefix("GOCSPX-", 20, 60, Url),
        Shape::prefix("ya29.", 20, 2048, Url),
        Shape::prefix("1//0", 30, 200, Url),
    ]),
    Vendor::new("gemini", "Google Gemini", "GEMINI_API_KEY", &[]),
    Vendor::new("groq", "Groq", "GROQ_API_KEY", &[Shape::prefix("gsk_", 40, 80, Alnum)]),
    Vendor::new("xai", "xAI", "XAI_API_KEY", &[Shape::prefix("xai-", 40, 120, Alnum)]),
    Vendor::new("perplexity", "Perplexity", "PERPLEXITY_API_KEY", &[Shape::prefix("pplx-", 30, 80, Alnum)]),
    Vendor::new("mistral", "Mistral AI", "MISTRAL_API_KEY", &[]),
    Vendor::new("cohere", "Cohere", "COHERE_API_KEY", &[]),
    Vendor::new("together", "Together AI", "TOGETHER_API_KEY", &[Shape::prefix("tgp_v1_", 30, 80, Url)]),
    Vendor::new("fireworks", "Fireworks AI", "FIREWORKS_API_KEY", &[Shape::prefix("fw_", 20, 40, Alnum)]),
    Vendor::new("cerebras", "Cerebras", "CEREBRAS_API_KEY", &[Shape::prefix("csk-", 40, 60, LowerAlnum)]),
    Vendor::new("nvidia", "NVIDIA", "NVIDIA_API_KEY", &[Shape::prefix("nvapi-", 40, 100, Url)]),
    Vendor::new("voyage", "Voyage AI", "VOYAGE_API_KEY", &[Shape::prefix("pa-", 40, 50, Url)]),
    Vendor::new("jina", "Jina AI", "JINA_API_KEY", &[Shape::prefix("jina_", 40, 90, Url)]),
    Vendor::new("hugging-face", "Hugging Face", "HF_TOKEN", &[
        Shape::prefix("hf_", 30, 60, Alnum),
        Shape::prefix("api_org_", 30, 60, Alnum),
    ]),
    Vendor::new("replicate", "Replicate", "REPLICATE_API_TOKEN", &[Shape::prefix("r8_", 30, 60, Alnum)]),
    Vendor::new("fal", "fal", "FAL_KEY", &[]),
    Vendor::new("elevenlabs", "ElevenLabs", "ELEVENLABS_API_KEY", &[Shape::prefix("sk_", 40, 64, LowerHex)]),
    Vendor::new("deepgram", "Deepgram", "DEEPGRAM_API_KEY", &[]),
    Vendor::new("assemblyai", "AssemblyAI", "ASSEMBLYAI_API_KEY", &[]),
    Vendor::new("stability", "Stability AI", "STABILITY_API_KEY", &[]),
    Vendor::new("runway", "Runway", "RUNWAYML_API_SECRET", &[Shape::prefix("key_", 100, 140, LowerHex)]),
    Vendor::new("weights-and-biases", "Weights & Biases", "WANDB_API_KEY", &[Shape::prefix("wandb_v1_", 40, 120, Url)]),
    Vendor::new("langsmith", "LangSmith", "LANGSMITH_API_KEY", &[
        Shape::prefix("lsv2_", 36, 80, Url),
        Shape::prefix("ls__", 32, 60, LowerHex),
    ]),
    Vendor::new("langfuse", "Langfuse", "LANGFUSE_SECRET_KEY", &[
        Shape::prefix("sk-lf-", 30, 50, Url),
        Shape::prefix("pk-lf-", 30, 50, Url).public(),
    ]),
    Vendor::new("helicone", "Helicone", "HELICONE_API_KEY", &[Shape::prefix("sk-helicone-", 20, 60, Url)]),
    Vendor::new("tavily", "Tavily", "TAVILY_API_KEY", &[Shape::prefix("tvly-", 20, 80, Url)]),
    Vendor::new("brave", "Brave Search", "BRAVE_API_KEY", &[Shape::prefix("BSA", 20, 36, Url)]),
    Vendor::new("exa", "Exa", "EXA_API_KEY", &[]),
    Vendor::new("serper", "Serper", "SERPER_API_KEY", &[]),
    Vendor::new("serpapi", "SerpApi", "SERPAPI_API_KEY", &[]),
    Vendor::new("kagi", "Kagi", "KAGI_API_KEY", &[]),
    Vendor::new("firecrawl", "Firecrawl", "FIRECRAWL_API_KEY", &[Shape::prefix("fc-", 32, 32, LowerHex)]),
    Vendor::new("apify", "Apify", "APIFY_TOKEN", &[Shape::prefix("apify_api_", 30, 60, Alnum)]),
    Vendor::new("bright-data", "Bright Data", "BRIGHTDATA_API_TOKEN", &[]),
    Vendor::new("scrapegraph", "ScrapeGraphAI", "SGAI_API_KEY", &[Shape::prefix("sgai-", 36, 36, Url).check(ends_with_uuid)]),
    Vendor::new("hyperbrowser", "Hyperbrowser", "HYPERBROWSER_API_KEY", &[Shape::prefix("hb_", 24, 60, Alnum)]),
    Vendor::new("browserbase", "Browserbase", "BROWSERBASE_API_KEY", &[Shape::prefix("bb_live_", 20, 60, Url)]),
    Vendor::new("e2b", "E2B", "E2B_API_KEY", &[Shape::prefix("e2b_", 40, 40, LowerHex)]),
    Vendor::new("context7", "Context7", "CONTEXT7_API_KEY", &[Shape::prefix("ctx7sk-", 20, 80, Url)]),
    Vendor::new("mem0", "Mem0", "MEM0_API_KEY", &[Shape::prefix("m0-", 30, 60, Alnum)]),
    Vendor::new("supermemory", "Supermemory", "SUPERMEMORY_API_KEY", &[Shape::prefix("sm_", 40, 120, Url)]),
    Vendor::new("smithery", "Smithery", "SMITHERY_API_KEY", &[]),
    Vendor::new("composio", "Composio", "COMPOSIO_API_KEY", &[Shape::prefix("ak_", 20, 40, Url)]),
    Vendor::new("pipedream", "Pipedream", "PIPEDREAM_API_KEY", &[]),
    Vendor::new("zapier", "Zapier", "ZAPIER_API_KEY", &[
        Shape::prefix("sk-ak-", 16, 60, Url),
        Shape::after("mcp.zapier.com/api/mcp/s/", 20, 400, Url),
    ]),
    Vendor::new("make", "Make", "MAKE_API_KEY", &[
        Shape::after(".make.com/mcp/api/v1/u/", 30, 60, Url),
    ]),
    Vendor::new("n8n", "n8n", "N8N_API_KEY", &[Shape::prefix("n8n_api_", 30, 120, Url)]),
    Vendor::new("coze", "Coze", "COZE_API_TOKEN", &[Shape::prefix("pat_", 60, 70, Alnum)]),
    Vendor::new("dify", "Dify", "DIFY_API_KEY", &[Shape::prefix("app-", 24, 24, Alnum)]),
    Vendor::new("zhipu", "Zhipu AI", "ZHIPUAI_API_KEY", &[Shape::inside(".", 48, 48, Alnum).check(is_zhipu)]),
    Vendor::new("z-ai", "Z.ai", "Z_AI_API_KEY", &[]),
    Vendor::new("minimax", "MiniMax", "MINIMAX_API_KEY", &[]),
    Vendor::new("pinecone", "Pinecone", "PINECONE_API_KEY", &[Shape::prefix("pcsk_", 40, 120, Url)]),
    Vendor::new("qdrant", "Qdrant", "QDRANT_API_KEY", &[]),
    Vendor::new("weaviate", "Weaviate", "WEAVIATE_API_KEY", &[]),
    Vendor::new("whop", "Whop", "WHOP_API_KEY", &[Shape::prefix("apik_", 30, 120, Wide)]),
    Vendor::new("logfire", "Logfire", "LOGFIRE_READ_TOKEN", &[Shape::prefix("pylf_v", 40, 80, Url)]),
    Vendor::new("bedrock", "Amazon Bedrock", "AWS_BEARER_TOKEN_BEDROCK", &[Shape::prefix("ABSK", 80, 200, Base64)]),
    Vendor::new("testsprite", "TestSprite", "TESTSPRITE_API_KEY", &[Shape::prefix("sk-user-", 40, 140, Url)]),
];

/// Thirty-two hexadecimal digits, a dot, sixteen letters and digits.
fn is_zhipu(token: &str) -> bool {
    token.split_once('.').is_some_and(|(id, secret)| {
        id.len() == 32
            && id.bytes().all(|b| b.is_ascii_hexdigit())
            && secret.len() == 16
            && secret.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}
