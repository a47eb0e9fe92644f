"""The tests of this folder on the tree that upstream ships."""

from pristine import pristine, test_each_behaviour_fails_without_the_patch, test_off_leaves_the_same_trace

__all__ = ["pristine", "test_each_behaviour_fails_without_the_patch", "test_off_leaves_the_same_trace"]
