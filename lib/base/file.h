// Whole files: read with a limit, written so that nobody ever sees half of one.
//
// Faults are Errors that name the file: NotFound (it, or its folder), PermissionDenied, ResourceExhausted (no room, too
// large), InvalidArgument (a folder), DataLoss (the medium fails).
// Thread-safety: functions may be called from several threads at once; a NewFile belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

inline constexpr uint64_t kMaxFileBytes = uint64_t{1} << 31;

// The bytes of a file (or pipe). Throws ResourceExhausted, before memory is taken, where there are more than `limit`.
PANTO_EXPORT std::string read_file(const std::string& path, uint64_t limit = kMaxFileBytes);

// Makes `path` hold `bytes`, or leaves what was there. Pipes and devices are written to as they are.
PANTO_EXPORT void write_file(const std::string& path, std::string_view bytes);

// A file in the making, for writers that need a name or write piece by piece. It grows under another name in the same
// folder; `commit` gives it its own, once all of it is on the disk. Without a commit nothing remains of it.
class PANTO_EXPORT NewFile {
 public:
  // Creates an empty file beside `path`: throws at once if that cannot be written.
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Where to write; another file may be put there (renamed) too.
  const std::string& temporary_path() const noexcept { return temporary_; }
  void append(std::string_view bytes);
  void commit();

 private:
  std::string path_;
  std::string temporary_;  // empty once committed, and for pipes and devices
  int file_ = -1;
};

// Throws the Error that `number` (errno) stands for: "cannot open file 'x': No such file or directory".
[[noreturn]] PANTO_EXPORT void fail_file(int number, std::string_view verb, const std::string& path);

}  // namespace panto
