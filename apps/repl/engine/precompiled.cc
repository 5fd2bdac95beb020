#include "panto/apps/repl/engine/precompiled.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "panto/apps/repl/session/probe.h"
#include "panto/apps/repl/user_folders.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/file.h"

namespace panto::repl {
namespace {

namespace fs = std::filesystem;

// Returns a line that changes whenever the file changes.
std::string state_of(const std::string& file) {
  struct stat s{};
  if (::stat(file.c_str(), &s) != 0) return fmt::format("{}: missing\n", file);
  return fmt::format("{}: {} bytes, {}.{:09} s, {}\n", file, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ino);
}

// Returns the files named in make rules. Skips words that are not absolute paths, which are the compiler's own, and
// files in its work folder.
std::vector<std::string> prerequisites(const std::string& rules, const std::string& workshop) {
  std::vector<std::string> files;
  std::string word;
  const auto finish = [&] {
    if (word.starts_with('/') && !word.starts_with(workshop)) files.push_back(word);
    word.clear();
  };
  for (size_t i = 0; i < rules.size(); ++i) {
    const bool escaped = rules[i] == '\\' && i + 1 < rules.size();
    if (escaped && rules[i + 1] != '\n') {
      word += rules[++i];
    } else if (escaped || rules[i] == ' ' || rules[i] == '\n') {
      finish();
    } else {
      word += rules[i];
    }
  }
  finish();
  return files;
}

// The state of all dependencies of a precompiled file, stored beside it. If the current state differs, the file is
// rebuilt.
std::string stamp(const EngineOptions& options, const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& folder : options.include_folders) text += fmt::format("-I{}\n", folder);
  for (const std::string& file : files) text += state_of(file);
  return text;
}

bool fits(const EngineOptions& options, const std::string& noted) {
  std::vector<std::string> files;
  std::istringstream lines(noted);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("-I")) files.push_back(line.substr(0, line.rfind(": ")));
  }
  return stamp(options, files) == noted;
}

std::string name_for(const std::string& library) {
  return fmt::format("{}-{:016x}", fs::path(library).stem().string(), std::hash<std::string>()(library));
}

// A temporary folder; the destructor removes it with its contents.
class Workshop {
 public:
  explicit Workshop(const fs::path& above) : path_((above / "making-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Workshop() {
    std::error_code none;
    if (!path_.empty()) fs::remove_all(path_, none);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  bool made() const { return !path_.empty(); }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace

std::string precompiled_header(const std::string& library, PrecompileHeader* make, const EngineOptions& options,
                               const std::string& header, const std::function<void(const std::string&)>& note) {
  const fs::path folder = cache_folder();
  if (folder.empty()) return "";
  std::string result = (folder / (name_for(library) + ".pch")).string(), noted = result + ".from";
  try {
    if (fs::exists(noted) && fits(options, read_file(noted))) return result;
    const Workshop workshop(folder);
    if (!workshop.made()) return "";
    if (note) note("Compiling the headers, which takes a few seconds the first time ...");
    const std::string output = workshop.file("header.pch"), rules = workshop.file("rules");
    const Probe made = probe([&] { return make(options, header, output, rules); });
    if (made.outcome != Probe::Outcome::kFine || !fs::exists(output)) return "";
    fs::rename(output, result);
    std::vector<std::string> files = prerequisites(read_file(rules), workshop.file(""));
    // rootcling's rules leave out the header itself.
    files.insert(files.end(), {header, library, result});
    write_file(noted, stamp(options, files));
    return result;
  } catch (const Error&) {
    return "";  // for example a full disk: a slow start is better than none
  } catch (const fs::filesystem_error&) {
    return "";
  }
}

}  // namespace panto::repl
