// Whole files: read with a limit, and written atomically, so that a reader never sees half of a file.
//
//   write_file("notes.txt", "two lines\nof text\n");
//   const std::string text = read_file("notes.txt");
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
inline constexpr uint64_t kMaxPipeBytes = uint64_t{1} << 28;  // pipes do not tell their size

// Returns the bytes of a file or pipe. Throws ResourceExhausted, before it takes the memory, for more than `limit`
// bytes (in a pipe: kMaxPipeBytes); InvalidArgument for devices, which may have no end.
PANTO_EXPORT std::string read_file(const std::string& path, uint64_t limit = kMaxFileBytes);

// A file for reading at any offset. Thread-safe: reads may run in several threads at once.
class PANTO_EXPORT RandomAccessFile {
 public:
  // Throws as read_file; InvalidArgument for pipes too.
  explicit RandomAccessFile(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  // The size when the file was opened.
  uint64_t size() const noexcept { return size_; }
  // Reads `count` bytes from `offset` on. Throws DataLoss if the file ends before.
  void read(uint64_t offset, void* to, size_t count) const;

 private:
  std::string path_;
  int file_ = -1;
  uint64_t size_ = 0;
};

// Both follow links, and return false if the path cannot be looked up: opening it then reports the reason.
PANTO_EXPORT bool is_folder(const std::string& path) noexcept;
PANTO_EXPORT bool is_file(const std::string& path) noexcept;  // false for pipes and devices too
// Makes a folder and its missing parents.
PANTO_EXPORT void make_folders(const std::string& path);

// Replaces the content of `path` by `bytes`; if it fails, the old content stays. Pipes and devices are written to
// directly.
PANTO_EXPORT void write_file(const std::string& path, std::string_view bytes);

// A file that is being written, for writers that need a file name or write piece by piece. The data goes to a temporary
// file in the same folder; `commit` writes it to disk and renames it to `path`. Without a commit the temporary file is
// removed.
class PANTO_EXPORT NewFile {
 public:
  // Creates an empty file beside `path`. Throws at once if that fails.
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Where to write. The caller may also rename another file to this path.
  const std::string& temporary_path() const noexcept { return temporary_; }
  void append(std::string_view bytes);
  void commit();

 private:
  std::string path_;
  std::string temporary_;  // empty once committed, and for pipes and devices
  int file_ = -1;
};

// Removes temporary files that killed processes left in this folder: their process does not exist any more, and their
// last change is over a day ago (the process may run on another machine, where this one cannot see it). Best effort.
PANTO_EXPORT void remove_abandoned_files(const std::string& folder);

// A file that others read while it is being written.
class PANTO_EXPORT GrowingFile {
 public:
  // Creates it. Throws AlreadyExists where there is one of that name.
  explicit GrowingFile(const std::string& path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // Other readers see the bytes at once. If it throws, they see none of them.
  void append(std::string_view bytes);
  // Writes everything appended so far to disk.
  void sync();

 private:
  std::string path_;
  int file_ = -1;
  uint64_t size_ = 0;
};

// While it lives, a write beyond the process's file size limit (`ulimit -f`) on the calling thread fails with an error,
// instead of a signal that ends the process.
class PANTO_EXPORT FileSizeErrors {
 public:
  FileSizeErrors() noexcept;
  ~FileSizeErrors();
  FileSizeErrors(const FileSizeErrors&) = delete;
  FileSizeErrors& operator=(const FileSizeErrors&) = delete;

 private:
  bool blocked_;  // this object blocked the signal
};

// Maps an errno to a Code.
PANTO_EXPORT Code code_of_errno(int number) noexcept;
// Throws the Error for an errno: "cannot open file 'x': No such file or directory".
[[noreturn]] PANTO_EXPORT void fail_file(int number, std::string_view verb, const std::string& path);

}  // namespace panto
