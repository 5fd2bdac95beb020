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

// What changes with a file: a line.
std::string state_of(const std::string& file) {
  struct stat s{};
  if (::stat(file.c_str(), &s) != 0) return fmt::format("{}: missing\n", file);
  return fmt::format("{}: {} bytes, {}.{:09} s, {}\n", file, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ino);
}

// The files that make rules name: words, of which those that are no whole paths are a compiler's own, as is what lies
// in the folder it worked in.
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

// Noted when a precompiled file is made, of all that it depends on: what would be noted now is the same, or it is made
// anew.
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

// A folder that goes with its contents.
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
    return "";  // no room, a folder that went away: starting slowly is better than not at all
  } catch (const fs::filesystem_error&) {
    return "";
  }
}

}  // namespace panto::repl
