import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { globals: globals.browser },
    rules: { "no-duplicate-imports": "error", "no-unused-vars": ["error", { ignoreRestSiblings: true }] },
  },
];
