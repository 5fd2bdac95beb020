// Whole files: read with a limit, written so that nobody ever sees half of one.
//
// Faults are Errors that name the file: NotFound (it, or its folder), PermissionDenied, ResourceExhausted (no room, too
// large), InvalidArgument (a folder, a device, a name that is too long, links in a circle), DataLoss (the medium
// fails).
// Thread-safety: functions may be called from several threads at once; a NewFile belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"

namespace panto {

inline constexpr uint64_t kMaxFileBytes = uint64_t{1} << 31;
inline constexpr uint64_t kMaxPipeBytes = uint64_t{1} << 28;  // they do not tell how much is to come

// The bytes of a file or pipe. Throws ResourceExhausted, before memory is taken, where there are more than `limit`, or
// kMaxPipeBytes in a pipe; InvalidArgument for devices, which may have no end.
PANTO_EXPORT std::string read_file(const std::string& path, uint64_t limit = kMaxFileBytes);

// A file of which parts are read. Thread-safe: reads may run in several threads at once.
class PANTO_EXPORT RandomAccessFile {
 public:
  // Throws as read_file; InvalidArgument for pipes too.
  explicit RandomAccessFile(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  // When it was opened.
  uint64_t size() const noexcept { return size_; }
  // `count` bytes from `offset` on. Throws DataLoss where the file ends before.
  void read(uint64_t offset, void* to, size_t count) const;

 private:
  std::string path_;
  int file_ = -1;
  uint64_t size_ = 0;
};

// Through links. False too where nobody can tell: opening it says why.
PANTO_EXPORT bool is_folder(const std::string& path) noexcept;
PANTO_EXPORT bool is_file(const std::string& path) noexcept;  // no pipe and no device either
// Makes a folder, and those above it, where they are not there.
PANTO_EXPORT void make_folders(const std::string& path);

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

// Removes what NewFiles in this folder left there when their process was killed: files of processes that are gone,
// which nobody has written to for a day (a process of another machine may be there and not be seen). Best effort.
PANTO_EXPORT void remove_abandoned_files(const std::string& folder);

// A file that others read while it grows.
class PANTO_EXPORT GrowingFile {
 public:
  // Creates it. Throws AlreadyExists where there is one of that name.
  explicit GrowingFile(const std::string& path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // Others see the bytes at once; where it throws, none of them.
  void append(std::string_view bytes);
  // What was appended is on the disk.
  void sync();

 private:
  std::string path_;
  int file_ = -1;
  uint64_t size_ = 0;
};

// A file that grows beyond what the process may write (`ulimit -f`) is an error where this lives, not a signal that
// ends the process: for the calling thread.
class PANTO_EXPORT FileSizeErrors {
 public:
  FileSizeErrors() noexcept;
  ~FileSizeErrors();
  FileSizeErrors(const FileSizeErrors&) = delete;
  FileSizeErrors& operator=(const FileSizeErrors&) = delete;

 private:
  bool blocked_;  // by this one
};

// What `number` (errno) is among our codes.
PANTO_EXPORT Code code_of_errno(int number) noexcept;
// Throws the Error that `number` (errno) stands for: "cannot open file 'x': No such file or directory".
[[noreturn]] PANTO_EXPORT void fail_file(int number, std::string_view verb, const std::string& path);

}  // namespace panto
