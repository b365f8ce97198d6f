"""Running candidates: quickly, many of them, in forks of a pytest that has collected the tests."""
