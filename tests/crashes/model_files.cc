#include "panto/tests/crashes/model_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

namespace panto::model_files {
namespace {

struct State {
  std::recursive_mutex mutex;
  std::string folder;  // empty: nothing is noted
  std::vector<Change> changes;
  std::map<int, int> open;           // descriptors of files
  std::set<int> folders;             // descriptors of the folder
  std::map<std::string, int> names;  // files as they are now
  int files = 0;
  std::string failing;  // the folder; empty: nothing fails
  int until = 0;        // calls before the one that fails
  bool on = false, happened = false;
  int error = 0;
};
State& state() {
  static auto* s = new State;
  return *s;
}

// The name in the folder; none for what is elsewhere.
std::optional<std::string> name_in(const std::string& folder, const char* path) {
  const std::string whole = path;
  if (folder.empty() || !whole.starts_with(folder + "/")) return std::nullopt;
  std::string name = whole.substr(folder.size() + 1);
  if (name.find('/') != std::string::npos) return std::nullopt;
  return name;
}
bool is_here(const char* path) {
  State& s = state();
  return name_in(s.folder, path).has_value() || name_in(s.failing, path).has_value();
}

// Whether this call, in the folder, is to fail: errno is set then.
bool fails() {
  State& s = state();
  if (s.failing.empty()) return false;
  if (s.until > 0) {
    --s.until;
    return false;
  }
  if (s.happened && !s.on) return false;
  s.happened = true;
  errno = s.error;
  return true;
}

template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));  // NOLINT: as dlsym gives it
}

int opened(int descriptor, const char* path, bool was_there) {
  State& s = state();
  if (descriptor < 0) return descriptor;
  if (path == s.folder || path == s.failing) {
    s.folders.insert(descriptor);
    return descriptor;
  }
  if (!is_here(path)) return descriptor;
  const std::string name = name_in(s.folder.empty() ? s.failing : s.folder, path).value();
  if (!was_there) {
    s.names[name] = s.files++;
    s.changes.push_back({.kind = Change::Kind::kMake, .file = s.names[name], .name = name});
  }
  const auto known = s.names.find(name);
  if (known != s.names.end()) s.open[descriptor] = known->second;
  return descriptor;
}

int open_noted(const char* real_name, const char* path, int flags, mode_t mode) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  struct stat info{};
  const bool was_there = stat(path, &info) == 0;
  if (!was_there && (flags & O_CREAT) != 0 && is_here(path) && fails()) return -1;
  return opened(real<int(const char*, int, ...)>(real_name)(path, flags, mode), path, was_there);
}

}  // namespace

Recording::Recording(const std::string& folder) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.folder = folder;
  s.changes.clear();
  s.names.clear();
  s.open.clear();
  s.folders.clear();
  s.files = 0;
}
Recording::~Recording() {
  const std::lock_guard lock(state().mutex);
  state().folder.clear();
}
void Recording::acknowledge(int64_t step) {
  const std::lock_guard lock(state().mutex);
  state().changes.push_back({.kind = Change::Kind::kAcknowledge, .step = step});
}
std::vector<Change> Recording::changes() const {
  const std::lock_guard lock(state().mutex);
  return state().changes;
}

Failing::Failing(const std::string& folder, int number, bool on, int error) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.failing = folder;
  s.until = number;
  s.on = on;
  s.happened = false;
  s.error = error;
}
Failing::~Failing() {
  const std::lock_guard lock(state().mutex);
  state().failing.clear();
}
bool Failing::happened() const {
  const std::lock_guard lock(state().mutex);
  return state().happened;
}

// ---- States after a crash ------------------------------------------------------------------------------------------

namespace {

constexpr uint64_t kBlock = 512;
constexpr size_t kMostNames = 7;  // changes of the folder of which all subsets are tried; of more, those that lack one

std::string applied(std::string bytes, const std::vector<Change>& changes) {
  for (const Change& c : changes) {
    if (c.kind == Change::Kind::kCut) {
      bytes.resize(c.offset);
      continue;
    }
    if (bytes.size() < c.offset + c.bytes.size()) bytes.resize(c.offset + c.bytes.size());
    bytes.replace(c.offset, c.bytes.size(), c.bytes);
  }
  return bytes;
}

// What may be in a file of these bytes on the disk, to which those were to be changed.
std::vector<std::string> torn(const std::string& old, const std::vector<Change>& changes) {
  if (changes.empty()) return {old};
  const std::string whole = applied(old, changes);
  std::string zeros = old, odd = whole;
  zeros.resize(whole.size());
  for (uint64_t at = 0; at < odd.size(); at += 2 * kBlock) {
    const uint64_t end = std::min<uint64_t>(at + kBlock, odd.size());
    for (uint64_t i = at; i < end; ++i) odd[i] = i < old.size() ? old[i] : '\0';
  }
  std::vector<std::string> all{old, whole, zeros, odd};
  all.push_back(whole.substr(0, whole.size() / 2 / kBlock * kBlock));
  if (!whole.empty()) all.push_back(whole.substr(0, whole.size() - 1));
  return all;
}

class Disk {
 public:
  void change(const Change& c) {
    switch (c.kind) {
      case Change::Kind::kMake:
      case Change::Kind::kRename:
      case Change::Kind::kRemove: {
        names_.push_back(c);
        // Which file it is that gets a name, or had it.
        if (c.kind == Change::Kind::kMake) now_[c.name] = c.file;
        if (c.kind == Change::Kind::kRename) {
          names_.back().file = now_[c.name];
          now_[c.to] = now_[c.name];
          now_.erase(c.name);
        }
        if (c.kind == Change::Kind::kRemove) now_.erase(c.name);
        break;
      }
      case Change::Kind::kWrite:
      case Change::Kind::kCut: pending_[c.file].push_back(c); break;
      case Change::Kind::kSyncFile:
        bytes_[c.file] = applied(bytes_[c.file], pending_[c.file]);
        pending_[c.file].clear();
        break;
      case Change::Kind::kSyncFolder:
        for (const Change& name : names_) apply(on_disk_, name);
        names_.clear();
        break;
      case Change::Kind::kAcknowledge: break;
    }
  }

  // Calls f with the files of each state.
  template <class F>
  void each(const F& f) const {
    const size_t n = names_.size();
    if (n <= kMostNames) {
      for (uint32_t kept = 0; kept < (1U << n); ++kept) with_names([&](size_t i) { return (kept >> i & 1U) != 0; }, f);
      return;
    }
    with_names([](size_t) { return true; }, f);
    with_names([](size_t) { return false; }, f);
    for (size_t lost = 0; lost < n; ++lost) {
      with_names([&](size_t i) { return i != lost; }, f);
      with_names([&](size_t i) { return i < lost; }, f);
    }
  }

 private:
  static void apply(std::map<std::string, int>& names, const Change& c) {
    if (c.kind == Change::Kind::kMake) names[c.name] = c.file;
    if (c.kind == Change::Kind::kRemove) names.erase(c.name);
    if (c.kind != Change::Kind::kRename) return;
    names.erase(c.name);
    names[c.to] = c.file;
  }

  template <class Kept, class F>
  void with_names(const Kept& kept, const F& f) const {
    std::map<std::string, int> names = on_disk_;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (kept(i)) apply(names, names_[i]);
    }
    std::map<std::string, std::string> files;
    fill(names, names.begin(), files, f);
  }

  template <class F>
  void fill(const std::map<std::string, int>& names, std::map<std::string, int>::const_iterator at,
            std::map<std::string, std::string>& files, const F& f) const {
    if (at == names.end()) return f(files);
    const auto old = bytes_.find(at->second);
    const auto pending = pending_.find(at->second);
    const std::string before = old == bytes_.end() ? "" : old->second;
    for (std::string& bytes : torn(before, pending == pending_.end() ? std::vector<Change>() : pending->second)) {
      files[at->first] = std::move(bytes);
      fill(names, std::next(at), files, f);
    }
    files.erase(at->first);
  }

  std::map<std::string, int> on_disk_, now_;
  std::vector<Change> names_;         // of the folder, not synchronized
  std::map<int, std::string> bytes_;  // synchronized
  std::map<int, std::vector<Change>> pending_;
};

}  // namespace

std::vector<Crash> crashes(const std::vector<Change>& changes) {
  std::vector<Crash> all;
  std::set<std::pair<int64_t, std::map<std::string, std::string>>> seen;
  Disk disk;
  int64_t acknowledged = -1;
  for (const Change& c : changes) {
    if (c.kind == Change::Kind::kAcknowledge) acknowledged = c.step;
    disk.change(c);
    disk.each([&](const std::map<std::string, std::string>& files) {
      if (seen.emplace(acknowledged, files).second) all.push_back({acknowledged, files});
    });
  }
  return all;
}

}  // namespace panto::model_files

// ---- The calls -----------------------------------------------------------------------------------------------------

using namespace panto::model_files;  // NOLINT: what follows must be outside of namespaces
#define PANTO_OWN extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN: their names and arguments are the C library's
PANTO_OWN int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_noted("open64", path, flags, mode);
}

PANTO_OWN ssize_t write(int descriptor, const void* bytes, size_t count) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  auto* call = real<ssize_t(int, const void*, size_t)>("write");
  const auto file = s.open.find(descriptor);
  if (file == s.open.end()) return call(descriptor, bytes, count);
  const auto offset = static_cast<uint64_t>(lseek(descriptor, 0, SEEK_CUR));
  const bool cut = fails();
  const int error = errno;
  const ssize_t done = call(descriptor, bytes, cut ? count / 2 : count);
  if (done > 0) {
    s.changes.push_back({.kind = Change::Kind::kWrite,
                         .file = file->second,
                         .offset = offset,
                         .bytes = std::string(static_cast<const char*>(bytes), static_cast<size_t>(done))});
  }
  if (!cut) return done;
  errno = error;
  return -1;
}

static int synchronized(const char* name, int descriptor) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto file = s.open.find(descriptor);
  const bool folder = s.folders.contains(descriptor);
  if ((file != s.open.end() || folder) && fails()) return -1;
  if (file != s.open.end()) s.changes.push_back({.kind = Change::Kind::kSyncFile, .file = file->second});
  if (folder) s.changes.push_back({.kind = Change::Kind::kSyncFolder});
  return real<int(int)>(name)(descriptor);
}
PANTO_OWN int fsync(int descriptor) { return synchronized("fsync", descriptor); }
PANTO_OWN int fdatasync(int descriptor) { return synchronized("fdatasync", descriptor); }

PANTO_OWN int ftruncate64(int descriptor, off64_t size) noexcept {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto file = s.open.find(descriptor);
  if (file != s.open.end()) {
    s.changes.push_back({.kind = Change::Kind::kCut, .file = file->second, .offset = static_cast<uint64_t>(size)});
  }
  return real<int(int, off64_t)>("ftruncate64")(descriptor, size);
}

PANTO_OWN int close(int descriptor) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.open.erase(descriptor);
  s.folders.erase(descriptor);
  return real<int(int)>("close")(descriptor);
}

PANTO_OWN int rename(const char* from, const char* to) noexcept {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const bool here = is_here(from) && is_here(to);
  if (here && fails()) return -1;
  const int result = real<int(const char*, const char*)>("rename")(from, to);
  if (result != 0 || !here) return result;
  const std::string& folder = s.folder.empty() ? s.failing : s.folder;
  const std::string old = name_in(folder, from).value(), name = name_in(folder, to).value();
  s.names[name] = s.names[old];
  s.names.erase(old);
  s.changes.push_back({.kind = Change::Kind::kRename, .name = old, .to = name});
  return result;
}

PANTO_OWN int unlink(const char* path) noexcept {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const int result = real<int(const char*)>("unlink")(path);
  if (result != 0 || !is_here(path)) return result;
  const std::string name = name_in(s.folder.empty() ? s.failing : s.folder, path).value();
  s.names.erase(name);
  s.changes.push_back({.kind = Change::Kind::kRemove, .name = name});
  return result;
}
// NOLINTEND
