// `:help NAME` for names other than ops: shows declarations and comments from the public headers, which are installed
// for compiling inputs.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

#include "panto/apps/repl/commands/commands.h"
#include "panto/apps/repl/engine/engines.h"
#include "panto/lib/base/file.h"

namespace panto::repl {
namespace {

// Returns the text of header <panto/NAME>; "" if it is not found.
std::string header(const std::string& name) {
  for (const std::string& folder : include_folders()) {
    const std::string path = fmt::format("{}/panto/{}", folder, name);
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown)) return read_file(path);
  }
  return "";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Removes what a caller never writes.
std::string plain(const std::string& declaration) {
  static const std::regex kNoise(
      R"(PANTO_EXPORT |,? *std::source_location where( = std::source_location::current\(\))?)");
  return std::regex_replace(declaration, kNoise, "");
}

// Returns the declaration that begins at line `at`, joined to one line.
std::string declaration(const std::vector<std::string>& lines, size_t at) {
  std::string text;
  for (; at < lines.size(); ++at) {
    const std::string& line = lines[at];
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) break;
    const size_t end = std::min(line.find(';'), line.ends_with(" {") ? line.size() - 2 : std::string::npos);
    text.append(text.empty() ? "" : " ").append(line.substr(begin, std::min(end, line.size()) - begin));
    if (end != std::string::npos) break;
  }
  return plain(text);
}

struct Found {
  std::string declarations, comments;
};

void look(const std::vector<std::string>& lines, const std::regex& wanted, Found& found) {
  std::string head, comment;  // the header's first comment, and the comment before a declaration
  bool in_head = true, in_comment = false, any = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.starts_with("//")) {
      if (!std::exchange(in_comment, true)) comment.clear();
      const std::string text = line.substr(line.starts_with("// ") ? 3 : 2) + "\n";
      (in_head ? head : comment) += text;
      continue;
    }
    in_head = in_comment = false;
    if (line.empty()) comment.clear();
    if (!std::regex_search(line, wanted) || line.ends_with("::")) continue;
    found.declarations += declaration(lines, i) + "\n";
    if (found.comments.find(comment) == std::string::npos) found.comments += comment;
    any = true;
  }
  if (any && found.comments.empty()) found.comments = head;
}

}  // namespace

std::string header_help(const std::string& name) {
  static const std::regex kName(R"((panto::)?([A-Za-z]\w*))");
  std::smatch m;
  if (!std::regex_match(name, m, kName)) return "";
  const std::string n = m[2];
  const std::regex wanted(
      fmt::format(R"(^((class|struct|enum class|using) (PANTO_EXPORT )?{0}\b[^;]|[A-Za-z].*[ &*]{0}\()"
                  R"(|inline constexpr [^={{]*\b{0}\b))",
                  n));
  static const std::regex kInclude(R"re(^#include "panto/(.*)")re");
  Found found;
  for (const std::string& line : lines_of(header("panto.h"))) {
    std::smatch include;
    if (std::regex_search(line, include, kInclude)) look(lines_of(header(include[1])), wanted, found);
  }
  if (found.declarations.empty()) return "";
  const std::string text = found.declarations + "\n" + found.comments;
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

}  // namespace panto::repl
