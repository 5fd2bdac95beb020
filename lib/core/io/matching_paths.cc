#include "panto/lib/core/io/matching_paths.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace panto {
namespace {

bool is_pattern(std::string_view part) { return part.find_first_of("*?[\\") != std::string_view::npos; }

bool exists(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

std::vector<std::string> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.empty() ? "." : folder.c_str()), closedir);
  std::vector<std::string> names;
  while (open != nullptr) {
    const dirent* const entry = readdir(open.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::vector<std::string> matching_paths(const std::string& pattern) {
  if (pattern.empty() || pattern.find('\0') != std::string::npos) return {};
  if (!is_pattern(pattern)) return exists(pattern) ? std::vector{pattern} : std::vector<std::string>();
  // Paths that match the parts so far; each ends with '/' unless it is empty.
  std::vector<std::string> found = {pattern.front() == '/' ? "/" : ""};
  std::string_view rest = pattern;
  for (bool first = true, last = false; !last; first = false) {
    while (rest.starts_with('/')) rest.remove_prefix(1);
    const size_t end = rest.find('/');
    last = end == std::string_view::npos;
    const std::string part(rest.substr(0, end));
    rest.remove_prefix(last ? rest.size() : end);
    if (part.empty()) break;  // the pattern ends with '/'
    if (first && is_pattern(part) && found[0].empty()) found[0] = "./";
    std::vector<std::string> longer;
    for (const std::string& folder : found) {
      std::vector<std::string> names = {part};
      if (is_pattern(part)) {
        names = names_in(folder);
        std::erase_if(names, [&](const std::string& name) { return fnmatch(part.c_str(), name.c_str(), 0) != 0; });
      }
      for (const std::string& name : names) {
        const std::string path = folder + name;
        if (!exists(path)) continue;
        longer.push_back(last ? path : path + '/');
      }
    }
    found = std::move(longer);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace panto
