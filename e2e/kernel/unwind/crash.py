# SPDX-License-Identifier: Apache-2.0
"""crash.py DIRECTORY [faulthandler]: dies in the extension boom of that directory, beside a thread that sleeps."""
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])
import boom

if "faulthandler" in sys.argv:
    import faulthandler

    faulthandler.enable()


begun = threading.Event()


def sleeper():
    begun.set()
    time.sleep(1000)


class Actor:
    def méthode(self, depth):
        if depth:
            return self.méthode(depth - 1)
        value = (
            1,
            boom.crash(),
        )
        return value


def generator():
    yield Actor().méthode(2)


threading.Thread(target=sleeper, daemon=True).start()
begun.wait()
time.sleep(0.2)
print(
    list(generator()),
)
