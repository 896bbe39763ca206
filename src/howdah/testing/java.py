"""The former name of `howdah.java`, which finds a Java."""

from __future__ import annotations

from howdah.java import NoJava as NoJava
from howdah.java import find_java_home as find_java_home
from howdah.java import java_version as java_version

if __name__ == "__main__":
    print(find_java_home())
