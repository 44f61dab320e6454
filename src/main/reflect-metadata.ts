/**
 * Passkeys and self-signed certificates use `tsyringe`, which refuses to load unless this package was loaded before it.
 * It is CommonJS: bundled, it runs with the body of the module that imports it, after all other imports of that module.
 * So this module imports nothing else, and the program imports it first.
 */
import 'reflect-metadata';
