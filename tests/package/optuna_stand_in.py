# SPDX-License-Identifier: Apache-2.0
"""The part of Optuna's interface that docs/how-to/sweepers.md uses, for machines without Optuna: names and meanings as its documents have
them (optuna.readthedocs.io: Study, Trial, TrialPruned). It proposes the ends and the middle of each range, and prunes a trial that is
worse than the best one was at the same step by more than a fifth."""
import math


class TrialPruned(Exception):
    pass


class Trial:
    def __init__(self, number, study):
        self.number, self.params, self.reports, self._study = number, {}, {}, study
        self.value = None

    def _part(self):
        return (0.75, 0.0, 0.5, 1.0)[self.number % 4]

    def suggest_float(self, name, low, high, *, log=False):
        part = self._part()
        value = math.exp(math.log(low) + part * (math.log(high) - math.log(low))) if log else low + part * (high - low)
        return self.params.setdefault(name, min(max(value, low), high))

    def suggest_int(self, name, low, high):
        return self.params.setdefault(name, round(low + self._part() * (high - low)))

    def report(self, value, step):
        self.reports.setdefault(int(step), float(value))

    def should_prune(self):
        step = max(self.reports)
        others = [trial.reports[step] for trial in self._study.trials if trial.value is not None and step in trial.reports]
        return bool(others) and not self.reports[step] <= 1.2 * min(others)


class Study:
    def __init__(self):
        self.trials = []

    def optimize(self, objective, n_trials, catch=()):
        for number in range(n_trials):
            trial = Trial(number, self)
            self.trials.append(trial)
            try:
                trial.value = float(objective(trial))
            except (TrialPruned, *catch) as end:
                print(f"trial {number}: {type(end).__name__} {end}")

    @property
    def best_trial(self):
        return min((trial for trial in self.trials if trial.value is not None), key=lambda trial: trial.value)

    @property
    def best_value(self):
        return self.best_trial.value

    @property
    def best_params(self):
        return self.best_trial.params


def create_study(*, study_name, storage, load_if_exists, direction):
    assert direction == "minimize" and load_if_exists and study_name and storage.startswith("sqlite:///")
    return Study()
