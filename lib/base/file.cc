#include "panto/lib/base/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's part of it
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "panto/lib/base/text/format.h"

namespace panto {

Code code_of_errno(int number) noexcept {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
    case ENODEV: return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermissionDenied;
    case EEXIST: return Code::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return Code::kResourceExhausted;
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP: return Code::kInvalidArgument;
    case EIO: return Code::kDataLoss;
    case EBUSY:
    case ETXTBSY: return Code::kUnavailable;
    default: return Code::kInternal;
  }
}

namespace {

class Descriptor {
 public:
  explicit Descriptor(int file) noexcept : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return file_; }

 private:
  int file_;
};

int open_retrying(const std::string& path, int flags, mode_t mode = 0) {
  int file;
  do {
    file = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (file < 0 && errno == EINTR);
  return file;
}

// Up to `count` bytes; fewer only at the end.
size_t read_up_to(int file, char* to, size_t count, const std::string& path) {
  size_t done = 0;
  while (done < count) {
    const ssize_t got = read(file, to + done, std::min(count - done, size_t{1} << 30));
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      fail_file(errno, "read", path);
    }
    done += static_cast<size_t>(got);
  }
  return done;
}

void write_all(int file, std::string_view bytes, const std::string& path) {
  const FileSizeErrors no_signal;
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), std::min(bytes.size(), size_t{1} << 30));
    if (put < 0) {
      if (errno == EINTR) continue;
      fail_file(errno, "write", path);
    }
    bytes.remove_prefix(static_cast<size_t>(put));
  }
}

void sync(int file, const std::string& path) {
  // Some file systems do not support fsync; then there is nothing more to do.
  if (fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) fail_file(errno, "write", path);
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The target of `path` if it is a symbolic link to something that exists, so that writing keeps the link.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (real == nullptr && errno != ENOENT) fail_file(errno, "write", path);
  return real != nullptr ? std::string(real.get()) : path;
}

}  // namespace

void fail_file(int number, std::string_view verb, const std::string& path) {
  failf(code_of_errno(number), "cannot {} file '{}': {}", verb, path, std::generic_category().message(number));
}

std::string read_file(const std::string& path, uint64_t limit) {
  const Descriptor file(open_retrying(path, O_RDONLY));
  if (file.get() < 0) fail_file(errno, "open", path);
  struct stat info{};
  if (fstat(file.get(), &info) != 0) fail_file(errno, "read", path);
  if (S_ISDIR(info.st_mode)) fail_file(EISDIR, "read", path);
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    invalid("cannot read file '{}': expected a file or a pipe, got a device", path);
  }
  if (S_ISFIFO(info.st_mode)) limit = std::min(limit, kMaxPipeBytes);
  const auto size = S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0;
  const auto too_large = [&] {
    failf(Code::kResourceExhausted, "file '{}': expected at most {} bytes, got {}", path, limit,
          size > limit ? std::to_string(size) : "more");
  };
  if (size > limit) too_large();
  std::string bytes;
  try {
    // One byte more than expected, to notice the end. Pipes and the files of /proc report no size: they are read until
    // they end.
    size_t wanted = std::max<size_t>(size + 1, size_t{1} << 12);
    size_t done = 0;
    for (;;) {
      bytes.resize(wanted);
      done += read_up_to(file.get(), bytes.data() + done, wanted - done, path);
      if (done > limit) too_large();
      if (done < wanted) break;
      wanted = wanted * 2;
    }
    bytes.resize(done);
  } catch (const std::bad_alloc&) {
    failf(Code::kResourceExhausted, "file '{}': expected room for its {} bytes, got none", path, size);
  }
  return bytes;
}

RandomAccessFile::RandomAccessFile(const std::string& path) : path_(path) {
  file_ = open_retrying(path, O_RDONLY | O_NONBLOCK);  // a pipe without a writer would wait for one
  if (file_ < 0) fail_file(errno, "open", path);
  struct stat info{};
  if (fstat(file_, &info) == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<uint64_t>(info.st_size);
    return;
  }
  const int error = S_ISDIR(info.st_mode) ? EISDIR : 0;
  close(file_);
  if (error != 0) fail_file(error, "read", path);
  invalid("cannot read file '{}': expected a file, got a pipe or device", path);
}

RandomAccessFile::~RandomAccessFile() { close(file_); }

void RandomAccessFile::read(uint64_t offset, void* to, size_t count) const {
  auto* out = static_cast<char*>(to);
  while (count > 0) {
    const ssize_t got = pread(file_, out, std::min(count, size_t{1} << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_file(errno, "read", path_);
    if (got == 0) failf(Code::kDataLoss, "file '{}': expected {} more bytes, got its end", path_, count);
    out += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<size_t>(got);
  }
}

bool is_folder(const std::string& path) noexcept {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_file(const std::string& path) noexcept {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

void make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_file(error.value(), "make", path);
}

FileSizeErrors::FileSizeErrors() noexcept {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  blocked_ = pthread_sigmask(SIG_BLOCK, &set, &before) == 0 && sigismember(&before, SIGXFSZ) == 0;
}

FileSizeErrors::~FileSizeErrors() {
  if (!blocked_) return;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  const timespec at_once{};
  while (sigtimedwait(&set, nullptr, &at_once) == SIGXFSZ) {
  }
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void write_file(const std::string& path, std::string_view bytes) {
  NewFile file(path);
  file.append(bytes);
  file.commit();
}

NewFile::NewFile(const std::string& path) : path_(resolved(path)) {
  struct stat info{};
  const bool exists = stat(path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail_file(EISDIR, "write", path);
  if (exists && !S_ISREG(info.st_mode)) {
    file_ = open_retrying(path_, O_WRONLY);
    if (file_ < 0) fail_file(errno, "write", path);
    return;
  }
  // A file that may not be written is not replaced either.
  if (exists && access(path_.c_str(), W_OK) != 0) fail_file(errno, "write", path);
  if (path_.empty() || path_.back() == '/') fail_file(path_.empty() ? ENOENT : EISDIR, "write", path);
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0;; ++attempt) {
    std::string name = fmt::format("{}/.panto-{}-{}.tmp", folder_of(path_), getpid(), counter.fetch_add(1));
    file_ = open_retrying(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file_ >= 0) {
      temporary_ = std::move(name);
      break;
    }
    if (errno != EEXIST || attempt == 100) fail_file(errno, "write", path);
  }
  // Best effort: the new file gets the permissions of the old one.
  if (exists) static_cast<void>(fchmod(file_, info.st_mode & 07777));
}

NewFile::~NewFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void NewFile::append(std::string_view bytes) { write_all(file_, bytes, path_); }

void NewFile::commit() {
  const int written = std::exchange(file_, -1);
  if (temporary_.empty()) {
    if (close(written) != 0) fail_file(errno, "write", path_);
    return;
  }
  {
    const Descriptor file(written);
    sync(file.get(), path_);
  }
  {
    // By name: the writer may have put another file there.
    const Descriptor file(open_retrying(temporary_, O_RDONLY));
    if (file.get() < 0) fail_file(errno, "write", path_);
    sync(file.get(), path_);
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_file(errno, "write", path_);
  temporary_.clear();
  // The new name is on the disk only when the folder is. It is too late to fail.
  const Descriptor folder(open_retrying(folder_of(path_), O_RDONLY | O_DIRECTORY));
  if (folder.get() >= 0) static_cast<void>(fsync(folder.get()));
}

void remove_abandoned_files(const std::string& folder) {
  constexpr time_t kDay = 24 * 60 * 60;
  std::error_code error;  // entries that cannot be read stay
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    int process = 0;
    unsigned number = 0;
    char last = 0;
    const std::string path = entry->path().string(), name = entry->path().filename().string();
    // NOLINTNEXTLINE(cert-err34-c): a number that is too large is that of no process
    if (std::sscanf(name.c_str(), ".panto-%d-%u.tm%c", &process, &number, &last) != 3 || last != 'p') continue;
    if (process <= 0 || kill(process, 0) == 0 || errno != ESRCH) continue;
    struct stat info{};
    if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (info.st_mtime + kDay < std::time(nullptr)) unlink(path.c_str());
  }
}

GrowingFile::GrowingFile(const std::string& path) : path_(path) {
  file_ = open_retrying(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666);
  if (file_ < 0) fail_file(errno, "make", path);
}

GrowingFile::~GrowingFile() { close(file_); }

void GrowingFile::append(std::string_view bytes) {
  try {
    write_all(file_, bytes, path_);
  } catch (const Error&) {
    // Half of a record would make all later records unreadable. Best effort: the first fault is the one to report.
    [[maybe_unused]] const int cut = ftruncate(file_, static_cast<off_t>(size_));
    throw;
  }
  size_ += bytes.size();
}

void GrowingFile::sync() { panto::sync(file_, path_); }

}  // namespace panto
