// Progress bars: what they write, letter by letter.
#include "panto/nn/training/progress.h"

#include <cmath>

#include "panto/tests/expect.h"

namespace panto {
namespace {

std::string bar(int full) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += i < full ? "█" : "░";
  return text;
}

// Where a bar writes to, with a clock that is set by hand.
struct Screen {
  std::string text;
  double now = 1000;

  ProgressOptions options(bool terminal) {
    ProgressOptions made;
    made.write = [this](std::string_view more) { text += more; };
    made.terminal = terminal;
    made.columns = 100;
    made.clock = [this] { return now; };
    return made;
  }
  std::string taken() { return std::exchange(text, ""); }
};

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(progress)

BOOST_AUTO_TEST_CASE(on_a_terminal) {
  Screen screen;
  {
    Progress progress(10, "epoch 1", screen.options(true));
    BOOST_TEST(screen.taken() == "");
    progress.update(0);
    BOOST_TEST(screen.taken() == "\repoch 1                " + bar(0) + " 0/10\x1b[K");
    screen.now += 0.5;
    progress.update(5, {{"loss", 0.31622}, {"accuracy", 1}});
    BOOST_TEST(screen.taken() == "\repoch 1                " + bar(15) + " 5/10  loss 0.3162, accuracy 1\x1b[K");
    // Not so soon again, but for the last one.
    screen.now += 0.01;
    progress.advance();
    BOOST_TEST(screen.taken() == "");
    screen.now += 11.49;
    progress.update(8);
    BOOST_TEST(screen.taken() == "\repoch 1                " + bar(24) + " 8/10  0:03 left\x1b[K");
    progress.advance();
    screen.now += 3588;
    progress.advance();
    BOOST_TEST(screen.taken() == "\repoch 1                " + bar(30) + " 10/10  in 1:00:00\x1b[K");
  }
  BOOST_TEST(screen.taken() == "\n");
}

BOOST_AUTO_TEST_CASE(elsewhere) {
  Screen screen;
  {
    Progress progress(100, "training", screen.options(false));
    for (int i = 1; i <= 100; ++i) progress.advance({{"loss", 1. / i}});
  }
  BOOST_TEST(screen.taken() ==
             "training: 30 of 100, loss 0.03333\n"
             "training: 60 of 100, loss 0.01667\n"
             "training: 90 of 100, loss 0.01111\n"
             "training: 100 of 100, loss 0.01\n");
  {
    Progress progress(2, "", screen.options(false));
    progress.advance();
    progress.advance();
  }
  BOOST_TEST(screen.taken() == "1 of 2\n2 of 2\n");
  ProgressOptions quiet = screen.options(false);
  quiet.lines = false;
  Progress(2, "", quiet).update(2);
  BOOST_TEST(screen.taken() == "");
}

BOOST_AUTO_TEST_CASE(where_nobody_knows_the_total) {
  Screen screen;
  {
    Progress progress(0, "reading", screen.options(true));
    progress.update(7, {{"MB", 1.5}});
    BOOST_TEST(screen.taken() == "\rreading                7  MB 1.5\x1b[K");
    screen.now += 65;
    progress.update(9);
    BOOST_TEST(screen.taken() == "\rreading                9  in 1:05\x1b[K");
  }
  screen.taken();
  Progress progress(0, "reading", screen.options(false));
  for (int i = 0; i < 30; ++i) {
    screen.now += 1;
    progress.advance();
  }
  BOOST_TEST(screen.taken() == "reading: 10\nreading: 20\nreading: 30\n");
}

BOOST_AUTO_TEST_CASE(numbers_that_cannot_be) {
  Screen screen;
  {
    Progress progress(4, "", screen.options(true));
    progress.update(9, {{"loss", NAN}, {"worst", INFINITY}});
    BOOST_TEST(screen.taken() == "\r" + bar(30) + " 9/4  loss nan, worst inf\x1b[K");
    screen.now += 1;
    progress.update(-3);
    BOOST_TEST(screen.taken() == "\r" + bar(0) + " -3/4\x1b[K");
  }
  screen.taken();
  Progress large(INT64_MAX, "", screen.options(false));
  large.update(INT64_MAX - 1);
  BOOST_TEST(screen.taken().starts_with("9223372036854775806 of 9223372036854775807"));
  Progress(1, "", screen.options(false)).update(INT64_MAX);
  BOOST_TEST(screen.taken() == "9223372036854775807 of 1\n");
  Progress(1, "", screen.options(false)).update(INT64_MIN);
  BOOST_TEST(screen.taken() == "");
  expect_error([] { Progress(-1); }, "InvalidArgument: progress: expected a total of at least 0, got -1");
}

BOOST_AUTO_TEST_CASE(lines_that_do_not_fit) {
  Screen screen;
  for (const int64_t columns : {0, 1, 2, 24, 30}) {
    ProgressOptions options = screen.options(true);
    options.columns = columns;
    screen.taken();
    Progress progress(2, "a title with é\x1b[2J\n", options);
    progress.update(1);
    std::string line = screen.taken();
    BOOST_TEST(line.starts_with("\r"));
    BOOST_TEST(line.ends_with("\x1b[K"));
    line = line.substr(1, line.size() - 4);
    int64_t characters = 0;
    for (const char c : line) characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
    BOOST_TEST(characters == std::max<int64_t>(columns - 1, 0));
    BOOST_TEST(line.find('\x1b') == std::string::npos);
    BOOST_TEST(line.find('\n') == std::string::npos);
  }
}

// What writes may throw, but not while the bar ends.
BOOST_AUTO_TEST_CASE(writers_that_throw) {
  Screen screen;
  bool broken = false;
  ProgressOptions options = screen.options(true);
  options.write = [&](std::string_view) {
    if (broken) fail(Code::kUnavailable, "no screen");
  };
  Progress progress(2, "", options);
  progress.update(1);
  broken = true;
  screen.now += 1;
  expect_error([&] { progress.update(2); }, "Unavailable: no screen");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
