// SPDX-License-Identifier: Apache-2.0
// crash WAY: a null pointer below templates, namespaces and a lambda; or an exception that nobody catches.
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace store {
template <typename T> struct Shelf {
	T *first = nullptr;
	__attribute__((noinline)) T take(size_t n) const
	{
		volatile T v = first[n];
		return v;
	}
};

namespace {
__attribute__((noinline)) int hidden(const Shelf<int> &shelf)
{
	int r = shelf.take(3);
	__asm__ volatile("" ::: "memory");
	return r;
}
} // namespace

__attribute__((noinline)) int use(const std::function<int(int)> &f, const std::vector<std::string> &names)
{
	int r = f((int)names.size());
	__asm__ volatile("" ::: "memory");
	return r;
}

__attribute__((noinline)) int refuse(int n)
{
	if (n > 0)
		throw std::runtime_error("no");
	return n;
}
} // namespace store

int main(int argc, char **argv)
{
	store::Shelf<int> shelf;
	int r = 0;

	if (argc > 1 && std::strcmp(argv[1], "throw") == 0)
		r = store::refuse(argc);
	else
		r = store::use([&](int n) { return store::hidden(shelf) + n; }, { "a", "b" });
	__asm__ volatile("" ::: "memory");
	return r;
}
