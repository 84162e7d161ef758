// SPDX-License-Identifier: Apache-2.0
// Implements Iterator for users: remembers errors and the end, counts the elements, and packs the state of the pipeline's
// stages into a Position.
#include "shoal/data/iterator.h"

#include "nodes.h"
#include "shoal/base/cpu.h"
#include "shoal/base/fork.h"

namespace shoal::data {
namespace {

constexpr size_t kPositionBytesMax = (64 << 10) - sizeof(uint64_t);  // Position::state and ::ordinal fit into 64 KiB.
constexpr uint64_t kPositionFormat = 1;

/// Returns the checksum, eight bytes, with which Position::state ends. It covers the bytes before it: the format, the
/// fingerprint, whether the dataset has ended, and the numbers of the stages.
uint64_t check_of(std::string_view bytes) { return fold_in(RandomKey(0), bytes); }

class PipelineIterator final : public Iterator {
 public:
  PipelineIterator(NodePtr node, uint64_t fingerprint, std::unique_ptr<StageContext> context, std::unique_ptr<Stage> stage)
      : node_(std::move(node)), fingerprint_(fingerprint), context_(std::move(context)), stage_(stage.release()) {}
  ~PipelineIterator() override {
    if (!stage_.get_deleter().is_of_parent()) context_->stopping.request_stop();
  }

  Result<bool> next(Batch& batch) override {
    if (failure_) return *failure_;
    if (ended_) return false;
    remember_place();
    std::swap(item_.own(), batch);  // The stages reuse the storage of the previous batch.
    Result<bool> more = stage_->next(item_);
    std::swap(more && *more ? item_.materialise(context_->env.buffers()) : item_.own(), batch);
    return settle(std::move(more));
  }

  std::string place_of_row(int64_t row) const override { return context_->place_of(item_.record_of_row(row)); }

  uint64_t ordinal() const override { return ordinal_; }
  InputStatistics statistics() const override {
    return context_->meters ? context_->meters->statistics() : InputStatistics{};
  }

  Result<Position> save() const override {
    Position position;
    SHOAL_TRY_VOID(save_to(position));
    return position;
  }

  Result<void> save_to(Position& position) const override {
    if (failure_ && !stopped_) {
      return failed_precondition("the input has failed and has no position: " + failure_->message());
    }
    if (stopped_ && no_place_) return *no_place_;
    position.ordinal = ordinal_;
    position.state.clear();
    StateWriter out(position.state);
    out.number(kPositionFormat);
    out.number(fingerprint_);
    out.flag(ended_);
    if (stopped_) {
      out.raw(place_);
    } else {
      SHOAL_TRY_VOID(stage_->save(out));
    }
    const uint64_t check = check_of(position.state);
    for (int shift = 0; shift < 64; shift += 8) position.state.push_back(char(check >> shift));
    if (position.state.size() <= kPositionBytesMax) return {};
    return failed_precondition("the position of this input pipeline takes " + std::to_string(position.state.size()) +
                               " bytes, more than 64 KiB; it has too many stages");
  }

  Result<void> restore(const Position& position) override {
    SHOAL_TRY(StateReader in, open(position.state));
    SHOAL_TRY(const bool ended, in.flag());
    Result<void> loaded = stage_->load(in);
    if (loaded && !in.at_end()) loaded = damaged_position();
    if (!loaded) {
      SHOAL_TRY_VOID(start_over());
      return loaded;
    }
    failure_.reset();
    no_place_.reset();
    stopped_ = false;
    ended_ = ended;
    ordinal_ = position.ordinal;
    item_.own();
    return {};
  }

  Result<void> check(const Position& position) const override {
    SHOAL_TRY_VOID(open(position.state));
    return {};
  }

  Result<int64_t> skip(int64_t count) override {
    if (failure_) return *failure_;
    if (ended_ || count <= 0) return int64_t(0);
    remember_place();
    Result<int64_t> skipped = stage_->skip(count);
    if (was_stopped(skipped) || (skipped && *skipped < count && stop_requested())) return stop();
    if (!skipped) return fail(std::move(skipped).error());
    ordinal_ += uint64_t(*skipped);
    ended_ = *skipped < count;
    item_.own();
    return skipped;
  }

 private:
  /// Saves the position before each element. A stop may interrupt the stages while they make the next element, and then
  /// they cannot tell a position. Saving costs a few numbers written into a string for each batch of a training.
  void remember_place() {
    if (!context_->options.stop.stop_possible() || no_place_) return;
    place_.clear();
    StateWriter out(place_);
    if (Result<void> saved = stage_->save(out); !saved) no_place_ = std::move(saved).error();
  }
  bool stop_requested() const { return context_->options.stop.stop_requested(); }
  template <class T>
  bool was_stopped(const Result<T>& result) const {
    return !result && result.error().kind() == ErrorKind::kCancelled && stop_requested();
  }
  Error stop() {
    stopped_ = true;
    failure_ = cancelled();
    return *failure_;
  }

  /// Handles the result of a call of next(). If a stop was requested, an end may come from a generator that gave up early:
  /// so it does not count as the end of the dataset, and after a restore() the generator runs again.
  Result<bool> settle(Result<bool> more) {
    if (was_stopped(more) || (more && !*more && stop_requested())) return stop();
    if (!more) return fail(std::move(more).error());
    ordinal_ += *more;
    ended_ = !*more;
    return more;
  }

  Error fail(Error error) {
    failure_ = std::move(error).with_context("input element " + std::to_string(ordinal_));
    return *failure_;
  }

  /// Returns a reader of the part of `state` behind the fingerprint, or an error if format or fingerprint do not fit.
  Result<StateReader> open(std::string_view state) const {
    if (state.size() < 8 || state.size() > kPositionBytesMax) return damaged_position();
    const std::string_view body = state.substr(0, state.size() - 8);
    uint64_t check = 0;
    for (size_t i = 8; i-- > 0;) check = check << 8 | uint8_t(state[body.size() + i]);
    if (check != check_of(body)) return damaged_position();
    StateReader in(body);
    SHOAL_TRY(const uint64_t format, in.number());
    SHOAL_TRY(const uint64_t fingerprint, in.number());
    if (format != kPositionFormat) {
      return failed_precondition("the input position was saved in format " + std::to_string(format) +
                                 ", this program reads " + std::to_string(kPositionFormat));
    }
    if (fingerprint != fingerprint_) {
      return failed_precondition("the input pipeline is not the one whose position was saved");
    }
    return in;
  }

  /// Begins the dataset anew after a restore() whose position passed the first checks, but did not fit the stages.
  Result<void> start_over() {
    context_->stopping.request_stop();
    stage_.reset();
    context_ = std::make_unique<StageContext>(context_->env, context_->options);
    Result<std::unique_ptr<Stage>> stage = node_->stage(*context_);
    ordinal_ = 0;
    ended_ = false;
    if (!stage) return fail(std::move(stage).error());
    stage_.reset(std::move(stage).value().release());
    failure_.reset();
    no_place_.reset();
    stopped_ = false;
    return {};
  }

  const NodePtr node_;  // Keeps the nodes alive, to which stages refer.
  const uint64_t fingerprint_;
  std::unique_ptr<StageContext> context_;
  std::unique_ptr<Stage, DeleteUnlessForked<Stage>> stage_;  // Has jobs on threads, which a child of fork() lacks.
  Item item_;
  uint64_t ordinal_ = 0;
  bool ended_ = false;
  std::optional<Error> failure_;
  bool stopped_ = false;  // True: the failure is a stop that the user asked for.
  std::string place_;     // The position of the stages before the last call of next() or skip().
  std::optional<Error> no_place_;
};

/// An iterator together with an environment that it owns.
class OwnIterator final : public Iterator {
 public:
  OwnIterator(std::unique_ptr<Environment> env, std::unique_ptr<Iterator> inner)
      : env_(std::move(env)), inner_(std::move(inner)) {}

  Result<bool> next(Batch& batch) override {
    // Sets the compute mode that training and the pool's threads have, so that every thread computes equal numbers.
    const ComputeMode mode;
    return inner_->next(batch);
  }
  uint64_t ordinal() const override { return inner_->ordinal(); }
  InputStatistics statistics() const override { return inner_->statistics(); }
  Result<Position> save() const override { return inner_->save(); }
  Result<void> save_to(Position& position) const override { return inner_->save_to(position); }
  Result<void> restore(const Position& position) override {
    const ComputeMode mode;
    return inner_->restore(position);
  }
  Result<void> check(const Position& position) const override { return inner_->check(position); }
  Result<int64_t> skip(int64_t count) override {
    const ComputeMode mode;
    return inner_->skip(count);
  }

 private:
  const std::unique_ptr<Environment> env_;
  const std::unique_ptr<Iterator> inner_;
};

}  // namespace

std::unique_ptr<Iterator> make_iterator_of_its_own(std::unique_ptr<Environment> env, std::unique_ptr<Iterator> iterator) {
  return std::make_unique<OwnIterator>(std::move(env), std::move(iterator));
}

Result<std::unique_ptr<Iterator>> make_iterator(NodePtr node, uint64_t fingerprint, Environment& env,
                                                IterateOptions options, bool types_only) {
  auto context = std::make_unique<StageContext>(env, std::move(options));
  context->types_only = types_only;
  SHOAL_TRY(std::unique_ptr<Stage> stage, node->stage(*context));
  return std::make_unique<PipelineIterator>(std::move(node), fingerprint, std::move(context), std::move(stage));
}

Result<void> Iterator::save_to(Position& position) const {
  SHOAL_TRY(position, save());
  return {};
}

Elements::Elements(std::unique_ptr<Iterator> iterator) : iterator_(iterator.release()) {}
Elements::Elements(Elements&&) noexcept = default;
Elements& Elements::operator=(Elements&&) noexcept = default;
Elements::~Elements() = default;

Elements::At& Elements::At::operator++() {
  more_ = value_or_raise(iterator_->next(*element_));
  return *this;
}

}  // namespace shoal::data
