// random_programs [--programs N] [--seed S] [--only SEED] [--mode MODE] [--no-shrink] [--all] [--print] [--coverage]
//                 [--export FOLDER]
// random_programs --calls N [--only OP/NUMBER]
//
// Makes N programs (2,000, or what PANTO_PROGRAMS says; 12,000 where PANTO_SLOW is set) from seed S (1) on and asks
// each for its answer in every mode (modes.h). Programs run in a child process: one that crashes or does not end is a
// failure with a seed, and the search goes on behind it. First failures of different kinds are made smaller and
// printed as C++; --all prints a line for every one. Ends with how many pairs of op and type were rarely tried
// (--coverage: each of them), and "N passed, M failed". With --export the programs are written to files (export.h).
// With --calls each op gets N calls that are wrong (hostile.h; 200 where PANTO_SLOW is set) and must answer or throw
// Error, within a second and a limit of memory.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "panto/device/cpu/device.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/log.h"
#include "panto/lib/core/step/threads.h"
#include "panto/tests/folder.h"
#include "panto/tests/random/export.h"
#include "panto/tests/random/hostile.h"
#include "panto/tests/random/interpret.h"
#include "panto/tests/random/modes.h"
#include "panto/tests/random/options.h"
#include "panto/tests/random/oracle.h"
#include "panto/tests/random/program/candidates.h"
#include "panto/tests/random/program/generate.h"
#include "panto/tests/random/program/shrink.h"

namespace panto::random {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSecondsForOne = 60;     // a mode that takes longer does not end, on whatever machine
constexpr size_t kMaxFailures = 8000;  // that are noted
constexpr uint64_t kProgramsOfOneChild = 1000;
constexpr int kShrunk = 5;
constexpr int kCandidates = 400;  // of one failure's smaller forms
constexpr size_t kMaxOps = 1024;

struct Failed {
  uint64_t seed;
  char mode[64];
  char text[600];
};

// What parent and children see of each other.
struct Board {
  std::atomic<uint64_t> seed, steps, programs, wrong, asked, skipped, legal, failures;
  char mode[64];
  char call[2000];
  Failed failed[kMaxFailures];
  std::atomic<uint32_t> tried[kMaxOps][kDTypeSlots];
};

void put(char* to, size_t size, const std::string& text) {
  const size_t n = std::min(size - 1, text.size());
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

void note_failure(Board& board, uint64_t seed, const std::string& mode, const std::string& text) {
  const uint64_t at = board.failures.fetch_add(1);
  if (at >= kMaxFailures) return;
  Failed& f = board.failed[at];
  f.seed = seed;
  put(f.mode, sizeof f.mode, mode);
  put(f.text, sizeof f.text, text);
}

template <class F>
void for_each_op(const Body& body, F f) {
  for (const Statement& s : body.statements) {
    if (s.op != nullptr) f(s);
    if (s.body != nullptr) for_each_op(*s.body, f);
  }
}

// Numbers of ops, the same in all processes.
size_t number_of(const Op& op) {
  static const auto* numbers = [] {
    auto* map = new std::map<const Op*, size_t>;
    for (const Op* each : all_ops()) map->emplace(each, map->size());
    return map;
  }();
  return numbers->at(&op);
}

// Where standard error goes of children.
int errors_file() {
  static const int file = [] {
    std::FILE* made = std::tmpfile();
    const int own = made != nullptr ? dup(fileno(made)) : dup(STDERR_FILENO);
    if (made != nullptr) std::fclose(made);
    fcntl(own, F_SETFL, O_APPEND);
    return own;
  }();
  return file;
}

// What a child that crashed wrote last: a sanitizer's report.
std::string last_errors(off_t from) {
  std::string text(6000, '\0');
  const ssize_t got = pread(errors_file(), text.data(), text.size(), from);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  const size_t report = text.find("ERROR: ");
  const size_t fault = text.find("runtime error: ");
  const size_t begin = std::min(report, fault);
  return begin == std::string::npos ? "" : text.substr(begin, 2500);
}

void prepare_child() {
  WatchedErrors::begin(errors_file());
  set_num_threads(1);
  cpu::set_memory_limit(int64_t{2} << 30);
}

[[noreturn]] void leave(int status) {
  std::fflush(stdout);
  std::_Exit(status);
}

[[noreturn]] void work(Board& board, uint64_t from, uint64_t to, const std::string& mode) {
  prepare_child();
  for (uint64_t seed = from; seed < to; ++seed) {
    put(board.mode, sizeof board.mode, "generating");
    board.seed = seed;
    const Program program = generate(seed);
    for_each_op(program.body,
                [&](const Statement& s) { ++board.tried[number_of(*s.op) % kMaxOps][static_cast<size_t>(s.type)]; });
    const Answers answers = ask(program, mode, [&](const std::string& name) {
      put(board.mode, sizeof board.mode, name);
      ++board.steps;
    });
    for (const Verdict& v : answers.wrong) note_failure(board, seed, v.mode, v.text);
    ++board.programs;
    board.wrong += answers.wrong.empty() ? 0 : 1;
    board.asked += static_cast<uint64_t>(answers.asked);
    board.skipped += static_cast<uint64_t>(answers.skipped);
    board.legal += static_cast<uint64_t>(answers.legal);
  }
  leave(0);
}

// Waits for a child; ends it where `progress` stays as it is for too long. Its status, or -1 if it did not end.
int wait_for(pid_t child, const std::function<uint64_t()>& progress) {
  uint64_t last = progress();
  auto since = Clock::now();
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (const uint64_t now = progress(); now != last) {
      last = now;
      since = Clock::now();
    } else if (Clock::now() - since > std::chrono::seconds(kSecondsForOne)) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
  }
}

std::string how_it_ended(int status) {
  if (status == -1) return fmt::format("did not end within {} s", kSecondsForOne);
  if (WIFSIGNALED(status)) return fmt::format("crashed: signal {}", WTERMSIG(status));
  return fmt::format("crashed: exit status {}", WEXITSTATUS(status));
}

// What a failure is about, without numbers and calls: smaller programs must fail in the same way.
std::string kind_of(std::string text) {
  if (text.starts_with("call with ")) text = text.substr(text.find(": ") + 2);
  if (text.starts_with("unexpected error")) return text.substr(0, text.find(" [")).substr(0, 40);
  if (text.starts_with("expected the error"))
    return text.find("got outputs") != text.npos ? "no error" : "another error";
  std::string kind;
  for (const char c : text.substr(0, text.find(':'))) kind += c >= '0' && c <= '9' ? '#' : c;
  return kind;
}

// Whether the eager program answers.
bool legal(const Program& program) {
  std::vector<Tensor> inputs;
  for (const Input& in : program.inputs) inputs.push_back(in.value);
  World world(program);
  return try_everything(program, inputs, world).failures.empty();
}

// In a child of this process, which has one thread. "" for an illegal program where a legal one is wanted: it is not a
// smaller form of that.
std::string outcome_of(const Program& program, bool want_legal, const std::string& mode, Board& board) {
  std::fflush(stdout);
  board.failed[0].text[0] = '\0';
  const pid_t child = fork();
  if (child == 0) {
    if (want_legal && !legal(program)) leave(0);
    const Answers answers = ask(program, mode, [](const std::string&) {});
    if (!answers.wrong.empty()) put(board.failed[0].text, sizeof board.failed[0].text, answers.wrong[0].text);
    leave(0);
  }
  const int status = wait_for(child, [] { return uint64_t{0}; });
  return status == 0 ? board.failed[0].text : how_it_ended(status);
}

template <class T>
T* shared() {
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return new (memory) T();
}

// In a child of its own, as generating runs ops.
void print_smaller(const Failed& failed) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    prepare_child();
    Board& board = *shared<Board>();
    const Program program = generate(failed.seed);
    const std::string kind = kind_of(failed.text);
    // One that crashes is not run here.
    const bool ended = !std::string_view(failed.text).starts_with("crashed") &&
                       !std::string_view(failed.text).starts_with("did not end");
    const bool want_legal = ended && legal(program);
    const Program small = shrink(
        program, [&](const Program& p) { return kind_of(outcome_of(p, want_legal, failed.mode, board)) == kind; },
        failed.text[0] == 'd' ? 40 : kCandidates);  // waiting takes long
    fmt::print("---- seed {}, mode '{}': {} statements of {}\n{}", failed.seed, failed.mode, small.num_statements(),
               program.num_statements(), to_cpp(small));
    // Where memory is written over, what it holds may be right by chance.
    const std::string now = outcome_of(small, want_legal, failed.mode, board);
    fmt::print("// mode '{}': {}\n", failed.mode, now.empty() ? "wrong at times" : now);
    leave(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fmt::print("---- seed {}: making it smaller {}\n", failed.seed, how_it_ended(status));
}

void print_coverage(const Board& board, bool all) {
  std::set<std::pair<std::string, DType>> pairs;
  for (const Candidate& c : candidates()) pairs.emplace(c.row->op().name(), c.type);
  size_t rare = 0, never = 0;
  for (const auto& [name, type] : pairs) {
    const uint32_t count = board.tried[number_of(get_op(name))][static_cast<size_t>(type)];
    rare += count < 50 ? 1 : 0;
    never += count == 0 ? 1 : 0;
    if (all) fmt::print("{} {}: {}\n", name, dtype_name(type), count);
  }
  fmt::print("{} pairs of op and type, {} of them in fewer than 50 programs, {} in none\n", pairs.size(), rare, never);
}

// So many programs that are graphs of TensorFlow's too.
int export_programs(const Options& o) {
  prepare_child();
  uint64_t made = 0;
  for (uint64_t seed = o.seed; made < o.programs; ++seed) {
    if (export_program(generate(seed), fmt::format("{}/{}", o.folder, seed))) ++made;
  }
  fmt::print("{} programs in {}\n", made, o.folder);
  return 0;
}

// ---- Calls that are wrong -------------------------------------------------------------------------------------------

constexpr uint64_t kCallsOfOneChild = 4000;
constexpr int64_t kMemoryOfCalls = int64_t{256} << 20;  // of tensors
constexpr int64_t kMemoryInAll = int64_t{1} << 30;      // what a kernel keeps beside them included

// Memory of the sanitizers' own is no fault of a call.
extern "C" __attribute__((weak)) void __asan_init();  // NOLINT(bugprone-reserved-identifier)

int64_t most_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// Call `number` of all: each op has `calls`.
[[noreturn]] void work_calls(Board& board, uint64_t from, uint64_t to, uint64_t calls) {
  prepare_child();
  cpu::set_memory_limit(kMemoryOfCalls);
  if (std::freopen("/dev/null", "w", stdout) == nullptr) leave(8);
  for (uint64_t k = from; k < to; ++k) {
    const Op& op = *hostile_ops()[k / calls];
    put(board.mode, sizeof board.mode, fmt::format("{}/{}", op.name(), k % calls));
    board.seed = k;
    const HostileCall call = make_hostile_call(op, k % calls);
    put(board.call, sizeof board.call, call.text());
    auto [wrong, answered] = try_hostile_call(call);
    board.legal += answered ? 1 : 0;
    const bool much = &__asan_init == nullptr && most_memory() > kMemoryInAll;
    if (much && wrong.empty()) wrong = fmt::format("took {} MiB", most_memory() >> 20);
    if (!wrong.empty()) {
      note_failure(board, k, board.mode, wrong + " [" + call.text() + "]");
      ++board.wrong;
    }
    ++board.programs;
    if (much) leave(0);  // the most that a process had stays what it is
  }
  leave(0);
}

void print_call(const std::string& name) {
  const size_t slash = name.find('/');
  prepare_child();
  const HostileCall call = make_hostile_call(get_op(name.substr(0, slash)), std::stoull(name.substr(slash + 1)));
  fmt::print("{}\n", call.text());
  std::fflush(stdout);
  const auto [wrong, answered] = try_hostile_call(call);
  fmt::print("{}\n", answered ? "an answer" : wrong.empty() ? "an Error" : wrong);
}

int run_calls(const Options& o) {
  // What is written is written there.
  const TestFolder folder;
  std::filesystem::current_path(folder.path());
  if (!o.only_call.empty()) {
    print_call(o.only_call);
    return 0;
  }
  Board& board = *shared<Board>();
  const auto begin = Clock::now();
  const uint64_t end = hostile_ops().size() * o.calls;
  for (uint64_t from = 0; from < end;) {
    std::fflush(stdout);
    board.seed = from;
    const off_t errors = lseek(errors_file(), 0, SEEK_END);
    const pid_t child = fork();
    if (child == 0) {
      try {
        work_calls(board, from, std::min(end, from + kCallsOfOneChild), o.calls);
      } catch (const std::exception& error) {
        note_failure(board, board.seed, board.mode, fmt::format("the generator: {}", error.what()));
        leave(7);
      }
    }
    const int status = wait_for(child, [&] { return board.seed.load(); });
    if (status != 0) {
      ++board.programs;
      ++board.wrong;
      note_failure(board, board.seed, board.mode, how_it_ended(status) + " [" + board.call + "]");
      const std::string report = last_errors(errors);
      if (!report.empty()) fmt::print("{}:\n{}\n", board.mode, report);
    }
    from = board.seed + 1;
  }
  for (uint64_t i = 0; i < std::min<uint64_t>(board.failures, kMaxFailures); ++i) {
    fmt::print("{}: {}\n", board.failed[i].mode, board.failed[i].text);
  }
  fmt::print("{} calls of {} ops, {} answered, in {:.1f} s\n", board.programs.load(), hostile_ops().size(),
             board.legal.load(), std::chrono::duration<double>(Clock::now() - begin).count());
  fmt::print("{} passed, {} failed\n", board.programs - board.wrong, board.wrong.load());
  std::filesystem::current_path("/");
  return board.wrong == 0 ? 0 : 1;
}

int run(const Options& o) {
  if (!o.folder.empty()) return export_programs(o);
  if (o.calls > 0 || !o.only_call.empty()) return run_calls(o);
  Board& board = *shared<Board>();
  const auto begin = Clock::now();
  const uint64_t end = o.seed + o.programs;
  for (uint64_t from = o.seed; from < end;) {
    const uint64_t to = std::min(end, from + kProgramsOfOneChild);
    std::fflush(stdout);
    const off_t errors = lseek(errors_file(), 0, SEEK_END);
    const pid_t child = fork();
    if (child == 0) {
      try {
        work(board, from, to, o.mode);
      } catch (const std::exception& error) {
        note_failure(board, board.seed, board.mode, fmt::format("the generator: {}", error.what()));
        leave(7);
      }
    }
    const int status = wait_for(child, [&] { return board.seed + board.steps; });
    if (status == 0) {
      from = to;
      continue;
    }
    ++board.programs;
    ++board.wrong;
    note_failure(board, board.seed, board.mode, how_it_ended(status));
    if (const std::string report = last_errors(errors); !report.empty()) {
      fmt::print("seed {}:\n{}\n", board.seed.load(), report);
    }
    from = board.seed + 1;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::map<std::string, int> kinds;
  const uint64_t noted = std::min<uint64_t>(board.failures, kMaxFailures);
  int shrunk = 0;
  std::set<std::string> shrunk_kinds;
  std::set<uint64_t> shrunk_seeds;
  for (uint64_t i = 0; i < noted; ++i) {
    const Failed& f = board.failed[i];
    const int seen = kinds[fmt::format("{}: {}", f.mode, kind_of(f.text))]++;
    if (seen < 3 || o.all) fmt::print("seed {}, mode '{}': {}\n", f.seed, f.mode, f.text);
    // One of each kind, and one of each program.
    if (o.shrinks && shrunk_kinds.insert(kind_of(f.text)).second && shrunk_seeds.insert(f.seed).second &&
        shrunk++ < kShrunk) {
      print_smaller(f);
    }
  }
  for (const auto& [kind, count] : kinds) fmt::print("{} x {}\n", count, kind);
  if (o.prints) {
    const pid_t child = fork();
    if (child == 0) {
      prepare_child();
      std::fflush(stdout);
      for (uint64_t seed = o.seed; seed < end; ++seed) fmt::print("{}", to_cpp(generate(seed)));
      leave(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
  }
  if (o.coverage || o.programs >= 2000) print_coverage(board, o.coverage);
  fmt::print("{} programs in {:.1f} s ({:.0f} a second), {} answers compared, {} not judged, {} further legal calls\n",
             board.programs.load(), seconds, static_cast<double>(board.programs.load()) / seconds, board.asked.load(),
             board.skipped.load(), board.legal.load());
  fmt::print("{} passed, {} failed\n", board.programs - board.wrong, board.wrong.load());
  return board.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace panto::random

int main(int count, char** arguments) {
  try {
    panto::set_log_level("info");  // passes that were undone are told at this level
    return panto::random::run(panto::random::parse(count, arguments));
  } catch (const std::exception& error) {
    fmt::print("{}\n0 passed, 1 failed\n", error.what());
    return 1;
  }
}
