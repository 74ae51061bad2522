#include "tools/html/page.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <string_view>

#include "tools/html/embedded.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

// Returns the text with "<" as JSON's escape, so that nothing in it can end the script element or
// begin a comment.
std::string WithoutMarkup(const std::string& text) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 64);
  for (const char c : text) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// Returns a word that the data cannot contain: scripts of the page carry it, and the page's policy
// admits no other script.
std::string Nonce(std::string_view data) {
  const XXH128_hash_t hash = XXH3_128bits(data.data(), data.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

constexpr char kHead[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "script-src 'nonce-{0}'; style-src 'unsafe-inline'; img-src data: blob:\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta name=\"generator\" content=\"testbed " TESTBED_VERSION
    "\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n"
    "<title>testbed results</title>\n<style>\n{1}</style>\n</head>\n<body>\n"
    "<noscript><p>This page draws its figures by JavaScript, which is switched off. "
    "<code>testbed report FILE</code> prints them as text.</p></noscript>\n"
    "<div id=\"page\"></div>\n";

}  // namespace

std::string PageHtml(const nlohmann::json& data) {
  const std::string text = WithoutMarkup(JsonText(data));
  const std::string nonce = Nonce(text);
  std::string html = fmt::format(kHead, nonce, PageStyle());
  html += "<script type=\"application/json\" id=\"data\">" + text + "</script>\n";
  const auto add = [&](const EmbeddedFile& module) {
    html += fmt::format("<script nonce=\"{}\">\n", nonce);
    html += module.text;
    html += "</script>\n";
  };
  add(PlotLibrary());
  for (const EmbeddedFile& module : PlotModules()) add(module);
  for (const EmbeddedFile& module : PageModules()) add(module);
  return html + "</body>\n</html>\n";
}

}  // namespace testbed
