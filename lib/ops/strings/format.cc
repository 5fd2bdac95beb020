#include "panto/lib/ops/strings/format.h"

namespace panto {

std::vector<std::string_view> template_pieces(std::string_view text, std::string_view placeholder) {
  std::vector<std::string_view> pieces;
  if (placeholder.empty()) {
    for (size_t i = 0; i < text.size(); ++i) pieces.push_back(text.substr(i, 1));
    if (pieces.empty()) pieces.push_back(text);
    return pieces;
  }
  for (size_t end = text.find(placeholder); end != std::string_view::npos; end = text.find(placeholder)) {
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + placeholder.size());
  }
  pieces.push_back(text);
  return pieces;
}

}  // namespace panto
