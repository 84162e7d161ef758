// SPDX-License-Identifier: Apache-2.0
// Implements `shoal plot DIR... [-o FILE.svg]`.

#include "command.h"
#include "plot/confusion.h"
#include "plot/curves.h"
#include "plot/distributions.h"
#include "plot/rates.h"
#include "plot/run_facts.h"
#include "plot/run_names.h"
#include "plot/screen.h"
#include "plot/svg_figure.h"
#include "shoal/arguments/command.h"
#include "shoal/checkpoint/end_mark.h"

namespace shoal::cli {
namespace {

enum class PlotKind { kCurves, kHistograms, kConfusion, kRoc, kPrecisionRecall };

struct PlotArguments {
  std::vector<std::string> folders;
  std::string output;
  PlotKind kind = PlotKind::kCurves;
  plot::CurveOptions curves;
  std::optional<double> examples_per_step;
  bool follows = false;
  std::string title;
  std::optional<int> width, height;
};

constexpr size_t kRunsMax = 1000;

/// The runs on the command line, with a reader for each.
class PlottedRuns {
 public:
  PlottedRuns(Context& context, const PlotArguments& arguments) : context_(context), arguments_(arguments) {
    const plot::Kept kept{.histograms = arguments.kind == PlotKind::kHistograms,
                          .tables = arguments.kind == PlotKind::kConfusion || arguments.kind == PlotKind::kRoc ||
                                    arguments.kind == PlotKind::kPrecisionRecall,
                          .newest_files = arguments.follows};
    for (const std::string& folder : arguments.folders) readers_.emplace_back(context.storage, folder, kept);
    names_ = plot::run_names(arguments.folders);
  }

  /// Reads the events since the last call.
  Result<void> read() {
    for (plot::HistoryReader& reader : readers_) {
      SHOAL_TRY_VOID(reader.read());
      for (const Error& error : reader.take_damage()) damage_.push_back(error);
    }
    return read_facts();
  }
  /// Complains about damaged files. Called at the end, since a sentence between two drawings would spoil them.
  void tell_damage() const {
    for (const Error& error : damage_) context_.complain(error.message());
  }
  bool damaged() const { return !damage_.empty(); }

  std::vector<plot::RunToDraw> runs() const {
    std::vector<plot::RunToDraw> runs;
    for (size_t i = 0; i < readers_.size(); ++i) {
      runs.push_back({&readers_[i].history(), names_[i], arguments_.examples_per_step, parameters_[i]});
      if (!needs_batch()) continue;
      runs.back().examples_per_step = plot::batch_of(facts_[i]);
    }
    return runs;
  }

  /// True if the training of all runs has ended.
  bool ended() const {
    for (const std::string& folder : arguments_.folders) {
      const auto mark = checkpoint::read_end_mark(context_.storage, folder);
      if (mark && !*mark) return false;
    }
    return true;
  }

 private:
  bool needs_batch() const { return arguments_.curves.x == plot::XAxis::kExamples && !arguments_.examples_per_step; }

  /// Reads the reports of the runs that had none at the last call: a run writes its report when it ends. A report that
  /// cannot be read only leaves the legend shorter, unless the x axis needs it.
  Result<void> read_facts() {
    facts_.resize(arguments_.folders.size());
    for (size_t i = 0; i < facts_.size(); ++i) {
      if (!facts_[i].facts.empty()) continue;
      Result<plot::RunFacts> facts = plot::read_report_facts(context_.storage, arguments_.folders[i]);
      if (!facts && needs_batch()) return std::move(facts).error();
      if (facts) facts_[i] = *std::move(facts);
    }
    parameters_ = plot::differing_flags(facts_);
    return {};
  }

  Context& context_;
  const PlotArguments& arguments_;
  std::vector<plot::HistoryReader> readers_;
  std::vector<plot::RunFacts> facts_;
  std::vector<std::string> parameters_;  // For each run: the flags in which it differs from the others.
  std::vector<std::string> names_;
  std::vector<Error> damage_;
};

Result<plot::Figure> draw(const std::vector<plot::RunToDraw>& runs, const PlotArguments& arguments,
                          const plot::GridSize& size) {
  const std::vector<std::string>& tags = arguments.curves.tags;
  switch (arguments.kind) {
    case PlotKind::kCurves: return plot::draw_curves(runs, arguments.curves);
    case PlotKind::kHistograms: return plot::draw_histograms(runs, tags, size);
    case PlotKind::kConfusion: return plot::draw_confusions(runs, tags);
    case PlotKind::kRoc: return plot::draw_rates(runs, tags, plot::RateCurve::kRoc);
    case PlotKind::kPrecisionRecall: return plot::draw_rates(runs, tags, plot::RateCurve::kPrecisionRecall);
  }
  return plot::Figure{};
}

Result<plot::Figure> draw_titled(const PlottedRuns& plotted, const PlotArguments& arguments, const plot::GridSize& size) {
  SHOAL_TRY(plot::Figure figure, draw(plotted.runs(), arguments, size));
  figure.title = arguments.title;
  return figure;
}

/// Allows an output file to be replaced only if this command drew the old one.
Result<void> check_output(Storage& storage, const std::string& path) {
  if (path == "-" || !storage.exists(path)) return {};
  SHOAL_TRY(const auto file, storage.open(path));
  std::string head(size_t(std::min<uint64_t>(file->size(), 200)), '\0');
  SHOAL_TRY_VOID(file->read_at(0, std::as_writable_bytes(std::span(head))));
  if (head.find(plot::kSvgMark) != std::string::npos) return {};
  return failed_precondition(
      path + ": is there already and is no picture of shoal plot; nothing was changed; give another path, or move it away");
}

Result<void> check_suffix(const std::string& path) {
  const size_t dot = path.rfind('.');
  const std::string suffix = dot == std::string::npos || path.find('/', dot) != std::string::npos ? "" : path.substr(dot);
  if (suffix != ".png" && suffix != ".pdf" && suffix != ".jpg" && suffix != ".ps") return {};
  return invalid_argument(
      "-o " + path +
      ": pictures are SVG; give a name that ends in .svg, and make others of it by, for example, rsvg-convert -o " + path +
      " FILE.svg");
}

Result<void> write_picture(Context& context, const plot::Figure& figure, const PlotArguments& arguments) {
  plot::SvgSize size;
  if (arguments.width) size.width = *arguments.width;
  if (arguments.height) size.height = *arguments.height;
  const std::string text = plot::svg_figure(figure, size);
  if (arguments.output == "-") {
    context.out << text;
    return {};
  }
  return context.storage.write_atomically(arguments.output, text);
}

plot::GridSize terminal_grid_size(const plot::TerminalStyle& style) {
  return {.columns = std::max(style.columns - 10, 8), .rows = style.rows};
}

Result<int> plot_runs(Context& context, const PlotArguments& arguments) {
  const bool to_file = !arguments.output.empty();
  if (to_file && arguments.follows)
    return invalid_argument("--follow draws on a terminal, and -o into a file; give one of them");
  if (arguments.folders.size() > kRunsMax) {
    return invalid_argument(std::to_string(arguments.folders.size()) + " folders are given, and at most " +
                            std::to_string(kRunsMax) + " are drawn");
  }
  const auto [least, most] = to_file ? std::pair(200, 10000) : std::pair(20, 1000);
  if (arguments.width && (*arguments.width < least || *arguments.width > most)) {
    return invalid_argument("--width: " + std::to_string(*arguments.width) + " is not from " + std::to_string(least) +
                            " to " + std::to_string(most) + (to_file ? " pixels" : " characters"));
  }
  if (arguments.height && (*arguments.height < (to_file ? 150 : 3) || *arguments.height > most)) {
    return invalid_argument("--height: " + std::to_string(*arguments.height) + " is not from " +
                            (to_file ? "150 to 10000 pixels" : "3 to 1000 lines"));
  }
  if (to_file) {
    SHOAL_TRY_VOID(check_suffix(arguments.output));
    SHOAL_TRY_VOID(check_output(context.storage, arguments.output));
  }
  PlottedRuns runs(context, arguments);
  if (!arguments.follows) {
    SHOAL_TRY_VOID(runs.read());
    runs.tell_damage();
  }
  const plot::ChosenSize chosen{arguments.width, arguments.height};
  if (arguments.follows) {
    SHOAL_TRY_VOID(plot::follow(context, chosen, [&]() -> Result<plot::Look> {
      // Asks first whether training has ended, and then reads the events. In the other order, the last events, written
      // in between, would be missed.
      plot::Look look{.figure = {}, .ended = runs.ended()};
      const Result<void> read = runs.read();
      Result<plot::Figure> figure =
          read ? draw_titled(runs, arguments, terminal_grid_size(plot::output_style(context, chosen)))
               : Result<plot::Figure>(read.error());
      const bool waits = !figure && figure.error().kind() == ErrorKind::kNotFound && !look.ended;
      if (!figure && !waits) return std::move(figure).error();
      if (waits) {  // The training may not have made its folder yet.
        look.figure.notes.push_back(read ? "Nothing to draw yet." : "Nothing to draw yet: " + read.error().message());
      } else {
        look.figure = std::move(figure).value();
      }
      return look;
    }));
    runs.tell_damage();
  } else if (to_file) {
    SHOAL_TRY(const plot::Figure figure, draw_titled(runs, arguments, {}));
    SHOAL_TRY_VOID(write_picture(context, figure, arguments));
  } else {
    const plot::TerminalStyle style = plot::output_style(context, chosen);
    SHOAL_TRY(const plot::Figure figure, draw_titled(runs, arguments, terminal_grid_size(style)));
    for (const std::string& line : plot::terminal_figure(figure, style)) context.out << line << '\n';
  }
  return runs.damaged() ? exit_status(ErrorKind::kDataLoss) : 0;
}

void add_curve_options(arguments::Command& command, PlotArguments& arguments) {
  command.add("--tag", arguments.curves.tags,
              "Only tags that fit this pattern, with * and ?, such as loss, eval/accuracy or train/*; may be given "
              "several times; "
              "default: loss of training, and loss, accuracy and auc of evaluations");
  command
      .add_call("--x",
                arguments::stores_choice<plot::XAxis, plot::XAxis>(
                    arguments.curves.x,
                    {{"step", plot::XAxis::kStep}, {"time", plot::XAxis::kTime}, {"examples", plot::XAxis::kExamples}}),
                "Draw over step (the global step), time (seconds of training since the first event, without the pauses "
                "between two starts) or examples (steps times the batch)")
      .type("step|time|examples");
  command
      .add("--examples-per-step", arguments.examples_per_step,
           "For --x examples: how many examples a global step has; default: the flag batch of report.json")
      .check(arguments::check_positive);
  command
      .add("--smooth", arguments.curves.smooth,
           "Smooth curves of training: the weight of earlier values, from 0 to 0.999; the recorded values are "
           "drawn faintly; default: 0")
      .check(arguments::in_range(0.0, 0.999));
  command.add_switch("--log-y", arguments.curves.log_y, "Draw values on a logarithmic axis");
}

}  // namespace

void add_plot_command(arguments::Command& app, Action& selected) {
  arguments::Command& command =
      app.add_command("plot", "Draws what runs recorded: curves, histograms, confusion matrices, ROC");
  const auto arguments = std::make_shared<PlotArguments>();
  command.add("DIR", arguments->folders, "The model_dir of each run").path("FOLDER").required();
  command
      .add("-o,--output", arguments->output,
           "Write a picture (SVG) to this file, or to standard output if it is -; default: draw in the terminal")
      .path("FILE");
  const std::vector<std::pair<std::string, PlotKind>> kinds{{"curves", PlotKind::kCurves},
                                                            {"histograms", PlotKind::kHistograms},
                                                            {"confusion", PlotKind::kConfusion},
                                                            {"roc", PlotKind::kRoc},
                                                            {"pr", PlotKind::kPrecisionRecall}};
  command
      .add_call("--kind", arguments::stores_choice(arguments->kind, kinds),
                "What to draw: curves of scalars, histograms over steps, confusion matrices, or true against false "
                "positives (roc) or precision against recall (pr) of the newest evaluation; default: curves")
      .type("curves|histograms|confusion|roc|pr");
  add_curve_options(command, *arguments);
  command.add_switch("--follow", arguments->follows,
                     "In a terminal: draw again while the runs go on, until they end or Ctrl-C");
  command.add("--title", arguments->title, "A title above the picture");
  command.add("--width", arguments->width, "Width: of a picture in pixels (default 960), in a terminal in characters");
  command.add("--height", arguments->height,
              "Height: of a picture in pixels, in a terminal in lines for each panel (default 12)");
  command.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return plot_runs(context, *arguments); }; });
}

}  // namespace shoal::cli
