// SPDX-License-Identifier: Apache-2.0
// The parts that figures are made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "plot/axis.h"
#include "plot/best_value.h"
#include "plot/braille.h"
#include "plot/clean_text.h"
#include "plot/comparison.h"
#include "plot/distributions.h"
#include "plot/rates.h"
#include "plot/reduction.h"
#include "plot/run_facts.h"
#include "plot/run_names.h"
#include "plot/smoothing.h"
#include "plot/terminal_figure.h"

namespace shoal::cli::plot {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> labels_of(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

TEST(PlotTicks, AreRoundNumbersOfTheRange) {
  EXPECT_THAT(labels_of(nice_ticks({0, 2000}, 5)), ElementsAre("0", "500", "1000", "1500", "2000"));
  EXPECT_THAT(labels_of(nice_ticks({0.012, 0.049}, 4)), ElementsAre("0.02", "0.03", "0.04"));
  EXPECT_THAT(labels_of(nice_ticks({-1, 1}, 4)), ElementsAre("-1.0", "-0.5", "0", "0.5", "1.0"));
  EXPECT_THAT(labels_of(nice_ticks({0, 30000}, 3)), ElementsAre("0", "10k", "20k", "30k"));
  EXPECT_THAT(labels_of(nice_ticks({0, 4e-7}, 4)), ElementsAre("0", "1e-07", "2e-07", "3e-07", "4e-07"));
}

TEST(PlotTicks, LieInAnyRangeAndAreFew) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    const double size = std::pow(10.0, std::uniform_real_distribution<>(-300, 300)(random));
    const double a = std::uniform_real_distribution<>(-1, 1)(random) * size,
                 b = std::uniform_real_distribution<>(-1, 1)(random) * size;
    const Range range{std::min(a, b), std::max(a, b)};
    const std::vector<Tick> ticks = nice_ticks(range, 5);
    ASSERT_GE(ticks.size(), 2u) << range.low << " " << range.high;
    ASSERT_LE(ticks.size(), 12u);
    const double slack = (range.high - range.low) * 1e-6;
    for (size_t at = 0; at < ticks.size(); ++at) {
      EXPECT_GE(ticks[at].value, range.low - slack);
      EXPECT_LE(ticks[at].value, range.high + slack);
      if (at > 0) {
        EXPECT_GT(ticks[at].value, ticks[at - 1].value);
      }
    }
  }
}

TEST(PlotTicks, ThereAreNoneForRangesThatAreNone) {
  EXPECT_THAT(nice_ticks({1, 1}, 5), IsEmpty());
  EXPECT_THAT(nice_ticks({0, INFINITY}, 5), IsEmpty());
  EXPECT_THAT(nice_ticks({NAN, 1}, 5), IsEmpty());
  EXPECT_THAT(nice_ticks({1e16, 1e16 + 2}, 5), IsEmpty());  // Steps that are lost beside the numbers.
  EXPECT_THAT(log_ticks({-1, 1}, 5), IsEmpty());
}

TEST(PlotTicks, OfLogarithmsArePowersOfTen) {
  EXPECT_THAT(labels_of(log_ticks({0.001, 10}, 9)), ElementsAre("0.001", "0.01", "0.1", "1", "10"));
  EXPECT_THAT(labels_of(log_ticks({0.03, 0.6}, 5)), ElementsAre("0.05", "0.1", "0.2", "0.5"));
  EXPECT_THAT(labels_of(log_ticks({0.3, 1}, 4)), ElementsAre("0.4", "0.6", "0.8", "1.0"));
  EXPECT_LE(log_ticks({1e-200, 1e200}, 6).size(), 7u);
  const Axis axis({0.01, 100}, true, 5);
  EXPECT_DOUBLE_EQ(axis.place(1), 0.5);
}

TEST(PlotAxis, IsWidenedAroundOneValue) {
  for (const double value : {0.0, 1.0, -3.5, 1e-300, 1e300, 1e18}) {
    const Range range = widened({value, value}, 0.05, false);
    EXPECT_LT(range.low, value);
    EXPECT_GT(range.high, value);
  }
  const Range log = widened({2, 2}, 0.05, true);
  EXPECT_LT(log.low, 2);
  EXPECT_GT(log.low, 0);
}

TEST(PlotNumbers, AreShort) {
  EXPECT_EQ(short_number(0.0123456), "0.01235");
  EXPECT_EQ(short_number(123456), "123.5k");
  EXPECT_EQ(short_number(12345), "12345");
  EXPECT_EQ(short_number(0.00001234), "1.23e-05");
  EXPECT_EQ(short_number(NAN), "NaN");
  EXPECT_EQ(short_number(-INFINITY), "-inf");
}

TEST(PlotSmoothing, IsTheWeightedMeanOfWhatCameBefore) {
  const std::vector<double> values{4, 0, 8, 2};
  const std::vector<double> results = smoothed(values, 0.5);
  ASSERT_THAT(results, SizeIs(4));
  for (size_t n = 0; n < values.size(); ++n) {  // By the formula of the docstring, and not by recursion.
    double sum = 0, weights = 0;
    for (size_t i = 0; i <= n; ++i) {
      sum += std::pow(0.5, double(n - i)) * values[i];
      weights += std::pow(0.5, double(n - i));
    }
    EXPECT_NEAR(results[n], sum / weights, 1e-12);
  }
  EXPECT_EQ(smoothed(values, 0), values);
}

TEST(PlotSmoothing, PassesOverWhatIsNotFinite) {
  const std::vector<double> results = smoothed({1, NAN, 3}, 0.5);
  EXPECT_TRUE(std::isnan(results[1]));
  EXPECT_NEAR(results[2], (0.5 * 1 + 3) / 1.5, 1e-12);
}

TEST(PlotReduction, KeepsLeastAndMostOfEachColumn) {
  std::mt19937 random(5);
  std::vector<XY> points;
  for (int i = 0; i < 20000; ++i) points.push_back({double(i), std::normal_distribution<>()(random)});
  points[777].y = 50;
  points[778].y = -50;
  constexpr int kColumns = 100;
  const std::vector<XY> kept = reduced(points, 0, 19999, kColumns);
  EXPECT_LE(kept.size(), size_t(kColumns * 4));
  const auto extremes = [](const std::vector<XY>& of) {
    std::vector<std::pair<double, double>> columns(kColumns, {INFINITY, -INFINITY});
    for (const XY& point : of) {
      auto& [least, most] = columns[std::min<size_t>(size_t(point.x / 19999 * kColumns), kColumns - 1)];
      least = std::min(least, point.y);
      most = std::max(most, point.y);
    }
    return columns;
  };
  EXPECT_EQ(extremes(kept), extremes(points));
  EXPECT_EQ(kept.front(), points.front());
  EXPECT_EQ(kept.back(), points.back());
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end(), [](const XY& a, const XY& b) { return a.x < b.x; }));
}

TEST(PlotReduction, KeepsAGapAndLeavesShortLinesAlone) {
  std::vector<XY> points;
  for (int i = 0; i < 1000; ++i) points.push_back({double(i), i == 500 ? NAN : 1.0});
  const std::vector<XY> kept = reduced(points, 0, 999, 10);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const XY& point) { return std::isnan(point.y); }), 1);
  const std::vector<XY> few{{0, 1}, {5, 2}};
  EXPECT_EQ(reduced(few, 0, 5, 10), few);
}

TEST(PlotCanvas, DrawsDotsAndLines) {
  BrailleCanvas canvas(3, 2);
  canvas.dot(0, 0, 0);
  canvas.dot(1, 3, 0);
  canvas.dot(-1, 0, 0);  // Outside.
  canvas.dot(6, 0, 0);
  EXPECT_THAT(canvas.rows(false), ElementsAre("⢁", ""));
  BrailleCanvas lines(4, 2);
  lines.line(0, 7, 7, 0, 0);
  EXPECT_THAT(lines.rows(false), ElementsAre("  ⡠⠊", "⡠⠊"));
  lines.line(0, 0, 0, 7, 1);
  EXPECT_THAT(lines.rows(false), ElementsAre("⡇ ⡠⠊", "⡧⠊"));
  lines.letter(0, 0, 'a', 1);
  EXPECT_EQ(lines.rows(false)[0], "a ⡠⠊");
  BrailleCanvas coloured(1, 1);
  coloured.dot(0, 0, 0);
  EXPECT_THAT(coloured.rows(true), ElementsAre("\x1b[94m⠁\x1b[0m"));
}

TEST(PlotNames, AreWhatDiffers) {
  EXPECT_THAT(run_names({"out/trials/0001/m", "out/trials/0002/m"}), ElementsAre("0001", "0002"));
  EXPECT_THAT(run_names({"/a/b/", "/a/c"}), ElementsAre("b", "c"));
  EXPECT_THAT(run_names({"x/m"}), ElementsAre("m"));
  EXPECT_THAT(run_names({"m", "m"}), ElementsAre("m", "m (2)"));
  EXPECT_THAT(run_names({"a/x/b", "a/b"}), ElementsAre("x/b", "b"));
  EXPECT_THAT(run_names({"/", "."}), SizeIs(2));
}

TEST(PlotText, HasNothingThatMovesACursorOrBreaksXml) {
  EXPECT_EQ(clean_text("a\x1b[2Jb\n"), "a\uFFFD[2Jb\uFFFD");
  EXPECT_EQ(clean_text("\u009b"), "\uFFFD");
  EXPECT_EQ(clean_text("\u202e"), "\uFFFD");
  EXPECT_EQ(clean_text("caf\xe9"), "caf\uFFFD");
  EXPECT_EQ(clean_text("日本"), "日本");
  EXPECT_EQ(xml_text("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
  EXPECT_EQ(shortened("abcdef", 4), "…def");
  EXPECT_EQ(shortened("日本語", 2), "…語");
  EXPECT_THAT(wrapped("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
  EXPECT_EQ(label_row({{0, "0"}, {1, "10"}, {9, "100"}}, 10), "0      100");
}

TEST(PlotBestValue, HeedsTheGoalAndNaN) {
  using tuning::Goal;
  const std::vector<Timed<double>> values{{1, 0, NAN}, {2, 0, 0.5}, {3, 0, 0.25}, {4, 0, 0.25}};
  EXPECT_EQ(best_of(values, Goal::kMin)->step, 3);
  EXPECT_EQ(best_of(values, Goal::kMax)->step, 2);
  EXPECT_FALSE(best_of(values, std::nullopt));
  EXPECT_EQ(better_one(1, 2, Goal::kMin), -1);
  EXPECT_EQ(better_one(1, 2, Goal::kMax), 1);
  EXPECT_EQ(better_one(NAN, 2, Goal::kMax), 1);
  EXPECT_EQ(better_one(NAN, NAN, Goal::kMax), 0);
  EXPECT_EQ(better_one(1, 2, std::nullopt), 0);
}

/// Four examples with scores 0.9 (yes), 0.6 (no), 0.4 (yes), 0.1 (no), at the thresholds 0, 0.3, 0.5, 0.8, 1.
Table four_examples() {
  return {"pr_curves", 6, 5, {2, 2, 1, 1, 0, 2,    1,       1,    0, 0, 0, 1, 1,    2,    2,
                              0, 0, 1, 1, 2, 0.5f, 2 / 3.f, 0.5f, 1, 0, 1, 1, 0.5f, 0.5f, 0}};
}

TEST(PlotRates, AreThoseOfFourExamples) {
  const auto roc = roc_of(four_examples());
  ASSERT_TRUE(roc);
  EXPECT_THAT(roc->points, ElementsAre(XY{0, 0}, XY{0, 0}, XY{0, 0.5}, XY{0.5, 0.5}, XY{0.5, 1}, XY{1, 1}, XY{1, 1}));
  EXPECT_DOUBLE_EQ(roc->area, 0.75);  // Of the four pairs of a yes and a no three are in the right order.
  const auto curve = precision_recall_of(four_examples());
  ASSERT_TRUE(curve);
  EXPECT_NEAR(curve->area, 0.5 * 1 + 0.5 * 2 / 3, 1e-12);
}

TEST(PlotRunFacts, NameTheFlagsInWhichRunsDiffer) {
  const auto run = [](const char* flags) {
    RunFacts one;
    const json::Json parsed = json::Json::parse(flags);
    for (const auto& [name, value] : parsed.items()) one.facts["flags." + name] = value;
    one.facts["seed"] = one.facts.size();
    return one;
  };
  EXPECT_THAT(differing_flags({run(R"({"batch":64,"rate":0.00111232,"units":[64,32],"same":1})"),
                               run(R"({"batch":64,"rate":0.5,"units":[8],"same":1})"), run(R"({"batch":64,"same":1})")}),
              ElementsAre("rate 0.001112, units 64,32", "rate 0.5, units 8", ""));
  // The second run trains still, and has no report.
  EXPECT_THAT(differing_flags({run(R"({"batch":64,"rate":1})"), run("{}"), run(R"({"batch":64,"rate":2})")}),
              ElementsAre("rate 1", "", "rate 2"));
  EXPECT_THAT(differing_flags({run(R"({"batch":64})")}), ElementsAre(""));
  EXPECT_EQ(cut_text("höhe 12", 8), "höhe 12");
  EXPECT_EQ(cut_text("höhe 12", 5), "höhe…");
  EXPECT_EQ(cut_text("höhe 12", 0), "");
}

TEST(PlotRates, AreNoneWithoutBothClasses) {
  const Table none{"pr_curves", 6, 1, {0, 3, 0, 0, 0, 0}};
  EXPECT_FALSE(roc_of(none));
  EXPECT_FALSE(precision_recall_of(none));
  const Table odd{"pr_curves", 6, 1, {NAN, 3, 0, 0, 0, 0}};
  EXPECT_FALSE(roc_of(odd));
}

TEST(PlotHistograms, KeepTheirCounts) {
  std::mt19937 random(3);
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(float(std::normal_distribution<>()(random)));
  const monitor::Histogram histogram = monitor::make_histogram(values);
  const std::vector<double> spread = spread_over(histogram, histogram.min, histogram.max, 20);
  double sum = 0, upper = 0;
  for (size_t row = 0; row < spread.size(); ++row) {
    sum += spread[row];
    if (row >= 10) upper += spread[row];
  }
  EXPECT_THAT(sum, DoubleNear(1000, 1e-6));
  const double middle = (histogram.min + histogram.max) / 2;
  EXPECT_THAT(upper,
              DoubleNear(double(std::count_if(values.begin(), values.end(), [&](float v) { return v > middle; })), 60));
}

}  // namespace
}  // namespace shoal::cli::plot
