"""Running user code is interrupted, and nothing else is."""

import itertools
import signal
import threading
import time

import pytest
from launcher import PATIENCE_S

from odonata.programs import user_code


@pytest.fixture(autouse=True)
def calm():
    yield
    user_code.calm()


def disturb_until(thread):
    end = time.monotonic() + PATIENCE_S
    while thread.is_alive() and time.monotonic() < end:
        user_code.disturb()
        thread.join(0.02)
    assert not thread.is_alive()


def spin(*_):
    while True:
        pass


def test_code_of_a_user_in_another_thread_is_ended_and_what_it_gave_is_kept():
    def numbers():
        yield from range(5)
        spin()

    taken = []
    thread = threading.Thread(target=lambda: taken.append(user_code.take(numbers(), 64)))
    thread.start()
    disturb_until(thread)
    ((items, more, raised),) = taken
    assert (items, more, type(raised)) == ([0, 1, 2, 3, 4], False, user_code.Interrupted)


def test_code_of_a_user_in_the_main_thread_is_ended_also_while_it_sleeps():
    previous = signal.signal(user_code.KNOCK, user_code.on_knock)
    over = threading.Event()

    def disturb():
        while not over.wait(0.02):
            user_code.disturb()

    thread = threading.Thread(target=disturb)
    try:
        for stuck in (spin, lambda: time.sleep(60)):
            over.clear()
            thread = threading.Thread(target=disturb)
            thread.start()
            with pytest.raises(user_code.Interrupted):
                user_code.call(stuck)
            # Nothing is raised outside of it.
            begin = time.monotonic()
            while time.monotonic() - begin < 0.2:
                user_code.take(iter([1, 2]), 2)
                time.sleep(0.001)
            over.set()
            thread.join()
    finally:
        over.set()
        thread.join()
        signal.signal(user_code.KNOCK, previous)


def test_a_thread_that_has_left_the_code_of_a_user_is_not_disturbed():
    failures = []
    over = threading.Event()

    def work():
        try:
            while not over.is_set():
                # Entering and leaving user code continually.
                _, _, raised = user_code.take(itertools.count(), 3)
                if raised is not None:
                    assert isinstance(raised, user_code.Interrupted)
                for _ in range(100):
                    time.monotonic()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        user_code.disturb()
    over.set()
    thread.join()
    assert failures == []


def test_what_a_function_of_a_user_returns_and_raises_comes_back():
    assert user_code.call(max, 3, 4) == 4
    with pytest.raises(ZeroDivisionError):
        user_code.call(lambda: 1 // 0)
    items, more, raised = user_code.take((1 // (2 - number) for number in range(5)), 10)
    assert (items, more, type(raised)) == ([0, 1], False, ZeroDivisionError)
    assert user_code.take(iter([1, 2, 3]), 2) == ([1, 2], True, None)
    assert user_code.take(iter([1]), 2) == ([1], False, None)
