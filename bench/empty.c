/* A library with nothing in it: what preloading costs before a shim does anything. */
typedef int nothing;
