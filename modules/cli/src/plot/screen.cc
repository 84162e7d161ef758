// SPDX-License-Identifier: Apache-2.0
#include "plot/screen.h"

#include <algorithm>
#include <chrono>

#include "plot/clean_text.h"
#include "shoal/base/environment.h"
#include "shoal/monitor/terminal.h"
#include "signals.h"

namespace shoal::cli::plot {
namespace {

constexpr std::chrono::milliseconds kLookEvery{500};
constexpr int kRowsOfPanel = 12;

/// Returns the rows of each panel so that all panels fit into the height. A title, an axis and its numbers, a legend and a
/// blank line surround each canvas.
int fitting_rows(const Figure& figure, int lines) {
  const int panels = std::max<int>(int(figure.lines.size() + figure.grids.size()), 1);
  const int around = 4 + int(std::min<size_t>(figure.runs.size(), 9));
  return std::clamp((lines - 2) / panels - around, 4, 20);
}

/// Returns the lines of the figure. If they do not fit into `height` lines, the last line says so.
std::vector<std::string> fitting_lines(const Figure& figure, TerminalStyle style, const ChosenSize& chosen, int height) {
  style.rows = chosen.rows.value_or(fitting_rows(figure, height));
  std::vector<std::string> lines = terminal_figure(figure, style);
  const size_t most = size_t(std::max(height - 1, 2));
  if (lines.size() > most) {
    lines.resize(most - 1);
    lines.push_back(shortened("More does not fit; --tag chooses", size_t(style.columns)));
  }
  return lines;
}

/// Draws figures on a terminal, each over the previous one.
class Drawing {
 public:
  void draw(Context& context, const Figure& figure, const ChosenSize& chosen) {
    const monitor::DrawingTerminal terminal = monitor::read_output_terminal();
    TerminalStyle style = output_style(context, chosen);
    // Leaves one column free: a full line would wrap, and the cursor could not go back over it.
    style.columns = std::max(std::min(style.columns, terminal.columns - 1), 20);
    const std::vector<std::string> lines = fitting_lines(figure, style, chosen, terminal.lines);
    std::string text;
    if (drawn_ > 0) text += "\x1b[" + std::to_string(drawn_) + "A\r";
    text += "\x1b[J";
    for (const std::string& line : lines) text += line + "\n";
    context.out << text;
    context.out.flush();
    drawn_ = lines.size();
  }

 private:
  size_t drawn_ = 0;
};

Task<Result<void>> follow_until_end(Environment& env, Context& context, ChosenSize chosen,
                                    std::function<Result<Look>()> look) {
  Drawing drawing;
  for (;;) {
    SHOAL_CO_TRY(const Look seen, look());
    drawing.draw(context, seen.figure, chosen);
    if (seen.ended || !context.out.ok()) co_return Result<void>();
    const Result<void> slept = co_await env.sleep_for(kLookEvery, env.interrupted());
    if (!slept) co_return Result<void>();  // The user ends the display by Ctrl-C, so this is no error.
  }
}

}  // namespace

TerminalStyle output_style(const Context& context, const ChosenSize& chosen) {
  TerminalStyle style{.rows = chosen.rows.value_or(kRowsOfPanel)};
  if (context.terminals.output) {
    const monitor::DrawingTerminal terminal = monitor::read_output_terminal();
    style.columns = terminal.columns;
    style.colours = terminal.takes_colours;
  }
  style.columns = chosen.columns.value_or(style.columns);
  return style;
}

Result<void> follow(Context& context, const ChosenSize& chosen, const std::function<Result<Look>()>& look) {
  if (!context.terminals.output || !monitor::read_output_terminal().renews_lines) {
    return failed_precondition(
        "--follow draws again and again on a terminal, and standard output is none that can do that");
  }
  const auto env = heed_signals();
  return env->run(follow_until_end(*env, context, chosen, look));
}

}  // namespace shoal::cli::plot
