// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of recurrent layers: every step multiplies the state by the same weights, and then computes
/// the gates of each row.
#include <algorithm>
#include <initializer_list>

#include "products.h"
#include "threads.h"

namespace shoal::backends::portable {

inline void zero(float* to, int64_t count) { std::fill_n(to, count, 0.0f); }

/// A step of a sequence.
struct Position {
  int64_t row, step;
  int64_t place;  ///< The index in arrays with an entry for every step: row * steps + step.
  bool last;      ///< True at the last step of the row's sequence.
};

/// An array with an entry for every step, [rows, steps, size]; its entries after the end of a sequence are set to zero.
struct Kept {
  float* data;
  int64_t size;
};

/// Computes one product in every step, to[row] = from[row] * weights, on several threads.
struct Recurrence {
  int threads;
  int64_t rows, steps;
  int64_t depth, columns;  ///< The weights are a [depth, columns] matrix.
  const float* packed;
  float* from;             ///< [rows, depth]
  float* to;               ///< [rows, columns]
  const int64_t* lengths;  ///< The length of each row's sequence in steps. Null: all have `steps` steps.

  /// For each step: computes to = from * weights, then calls gates(position) for each row whose sequence has not ended.
  template <class Gates>
  void run_forward(std::initializer_list<Kept> kept, const Gates& gates) const {
    for_rows([&](int64_t begin, int64_t end, bool together) {
      for (int64_t step = 0; step < steps; ++step) {
        multiply_rows(begin, end, together);
        for (int64_t row = begin; row < end; ++row) visit(row, step, kept, gates);
      }
    });
  }

  /// For each step, from the last to the first: calls gates(position) for each row whose sequence has not ended, sets
  /// `from` to zero for the other rows, and then computes to = from * weights.
  template <class Gates>
  void run_backward(std::initializer_list<Kept> kept, const Gates& gates) const {
    for_rows([&](int64_t begin, int64_t end, bool together) {
      for (int64_t step = steps - 1; step >= 0; --step) {
        for (int64_t row = begin; row < end; ++row) {
          if (step >= length(row)) zero(from + row * depth, depth);
          visit(row, step, kept, gates);
        }
        multiply_rows(begin, end, together);
      }
    });
  }

  int64_t length(int64_t row) const { return lengths ? lengths[row] : steps; }

 private:
  template <class Gates>
  void visit(int64_t row, int64_t step, std::initializer_list<Kept> kept, const Gates& gates) const {
    const int64_t place = row * steps + step;
    if (step < length(row)) return gates(Position{row, step, place, step + 1 == length(row)});
    for (const Kept& part : kept) zero(part.data + place * part.size, part.size);
  }

  /// Computes rows [begin, end) on one thread or, if `together` is true, on all threads, each of which takes some columns.
  void multiply_rows(int64_t begin, int64_t end, bool together) const {
    const PanelProduct product{.a = {from + begin * depth, depth},
                               .packed = packed,
                               .c = to + begin * columns,
                               .c_stride = columns,
                               .rows = end - begin,
                               .depth = depth,
                               .columns = columns};
    if (!together) return multiply(product);
    parallel_for(threads, panel_count(columns), packed_floats(depth, columns) * int64_t(sizeof(float)),
                 [&](int64_t first, int64_t last) { multiply(product, first, last); });
  }

  /// Calls body(begin, end, together) with disjoint ranges of rows. Each thread takes one range through all steps without
  /// waiting for the others; `together` is false. If there are too few rows for that, a single call gets all rows, and
  /// threads divide each of its products; `together` is true.
  template <class Body>
  void for_rows(const Body& body) const {
    constexpr int64_t kRowsPerThread = 4;
    // parallel_for() takes the cost in bytes of memory traffic: four multiplications take as long as moving one byte.
    const int64_t work = rows * steps * depth * columns / 4;
    if (threads > 1 && rows >= kRowsPerThread * threads) {
      parallel_for(threads, rows, work, [&](int64_t begin, int64_t end) { body(begin, end, false); });
    } else {
      body(0, rows, true);
    }
  }
};

}  // namespace shoal::backends::portable
